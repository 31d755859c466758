import torch
import torch.distributed as dist


def pass_on(block, source, target):
    other = torch.empty_like(block)
    dist.recv(other, src=source)
    dist.send(block, dst=target)
    return other
