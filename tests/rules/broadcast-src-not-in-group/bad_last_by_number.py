import torch.distributed as dist
from megatron.core import parallel_state as mpu


def tell(loss):
    last = mpu.get_pipeline_model_parallel_world_size() - 1
    dist.broadcast(loss, src=last, group=mpu.get_pipeline_model_parallel_group())  # [broadcast-src-not-in-group]
