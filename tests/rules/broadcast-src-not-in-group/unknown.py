import torch.distributed as dist
from megatron.core import parallel_state as ps


def share(batch, src, group):
    dist.broadcast(batch, src=src, group=ps.get_tensor_model_parallel_group())
    dist.broadcast(batch, src=0, group=group)
