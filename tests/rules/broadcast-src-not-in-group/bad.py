import torch.distributed as dist
from megatron.core import parallel_state as ps

SOURCE = 0


def tp_group():
    return ps.get_tensor_model_parallel_group()


def share(batch):
    src = 0
    dist.broadcast(batch, src=src, group=tp_group())  # [broadcast-src-not-in-group]
    dist.broadcast_object_list([batch], SOURCE, tp_group())  # [broadcast-src-not-in-group]
    dist.reduce(batch, dst=0, group=ps.get_data_parallel_group())  # [broadcast-src-not-in-group]
    dist.broadcast(  # [broadcast-src-not-in-group]
        batch, src=ps.get_tensor_model_parallel_rank(), group=ps.get_tensor_model_parallel_group()
    )
    dist.broadcast(  # [broadcast-src-not-in-group]
        batch, src=ps.get_data_parallel_src_rank(), group=ps.get_tensor_model_parallel_group()
    )
