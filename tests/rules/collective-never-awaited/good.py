import torch.distributed as dist


def total(x, group):
    work = dist.all_reduce(x, group=group, async_op=True)
    y = x.shape
    work.wait()
    return x, y


def started(x, group):
    return x, dist.all_reduce(x, group=group, async_op=True)
