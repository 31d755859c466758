import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def from_before(shape):
    if mpu.is_pipeline_last_stage():
        return None
    x = torch.empty(shape, requires_grad=True)
    dist.recv(x, src=mpu.get_pipeline_model_parallel_prev_rank())  # [neighbour-of-other-end]
    return x


def on(y):
    if not mpu.is_pipeline_first_stage():
        after = mpu.get_pipeline_model_parallel_next_rank()
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, y, after)]):  # [neighbour-of-other-end]
            work.wait()
