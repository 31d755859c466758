import torch
import torch.distributed as dist


def next_stage(model, shape, source):
    x = torch.empty(shape)
    work = dist.irecv(x, src=source)
    work.wait()
    return model(x)


def handed_on(x, source):
    return x, dist.irecv(x, src=source)
