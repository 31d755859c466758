"""The handle is kept where others wait for it, or something below may wait for all."""

import torch
import torch.distributed as dist


class Bucket:
    def start(self, x):
        self.work = dist.all_reduce(x, async_op=True)
        return x


def by_stream(x):
    work = dist.all_reduce(x, async_op=True)
    torch.cuda.synchronize()
    return x


def flag(x, asynchronous):
    work = dist.all_reduce(x, async_op=asynchronous)
    return x
