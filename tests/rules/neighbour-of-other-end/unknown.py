import torch.distributed as dist
from megatron.core import parallel_state as mpu


def round_the_ring(x, wanted):
    """An interleaved schedule sends from the last stage to the first one; the caller knows when."""
    if wanted:
        dist.send(x, dst=mpu.get_pipeline_model_parallel_next_rank())


def both(x, y):
    dist.send(x, dst=mpu.get_pipeline_model_parallel_next_rank())
    dist.recv(y, src=mpu.get_pipeline_model_parallel_prev_rank())


def named(x, stage, other):
    if not mpu.is_pipeline_last_stage():
        dist.send(x, dst=other)
