import torch
import torch.distributed as dist
from vllm.distributed import get_tp_group


def share(batch):
    group = get_tp_group()
    if group.is_first_rank:
        group.broadcast_object(batch["shape"], src=0)
        group.broadcast(batch["field"], src=0)
    else:
        shape = group.broadcast_object(None, src=0)
        batch = {"field": torch.empty(shape)}
        group.broadcast(batch["field"], src=0)
    return batch


def report(loss):
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        print(loss)
    else:
        dist.all_reduce(loss)
