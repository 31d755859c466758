"""Whether a handle comes back is for the caller to say."""

import torch.distributed as dist


def total(y, op=dist.ReduceOp.SUM, group=None, async_op=False):
    if dist.get_world_size(group) == 1:
        return y
    return dist.all_reduce(y, op, group, async_op)
