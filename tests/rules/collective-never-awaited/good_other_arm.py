import torch.distributed as dist
from megatron.core import parallel_state


def reduce_buffers(buffers, divisor, fused):
    group = parallel_state.get_data_parallel_group()
    for chunk in buffers.chunks():
        if fused:
            dist.all_reduce(chunk, group=group, async_op=True, op=dist.ReduceOp.AVG)
        else:
            chunk.div_(divisor)
            dist.all_reduce(chunk, group=group, async_op=True)
