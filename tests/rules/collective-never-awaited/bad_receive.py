import torch
import torch.distributed as dist


def next_stage(model, shape, source):
    x = torch.empty(shape)
    work = dist.irecv(x, src=source)  # [collective-never-awaited]
    return model(x)
