import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu
from torch.nn import functional as F


def shard_range(total, rank, world):
    per = total // world
    return rank * per, (rank + 1) * per


def own_words(ids, weight):
    lo, hi = shard_range(weight.shape[0] * 2, mpu.get_tensor_model_parallel_rank(), 2)
    inside = (ids >= lo) & (ids < hi)
    local = ids - lo
    found = F.embedding(torch.where(inside, local, 0), weight)
    found[~inside] = 0.0
    dist.all_reduce(found, group=mpu.get_tensor_model_parallel_group())
    return found


def accuracy(logits, labels):
    best, place = logits.max(dim=-1)
    place = place + mpu.get_tensor_model_parallel_rank() * logits.shape[-1]
    highest = best.clone()
    dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=mpu.get_tensor_model_parallel_group())
    place = torch.where(best == highest, place, torch.full_like(place, -1))
    dist.all_reduce(place, op=dist.ReduceOp.MAX, group=mpu.get_tensor_model_parallel_group())
    return (place == labels).float().mean()


def whole_or_part(ids, weight, group):
    if group is None:
        return F.embedding(ids, weight)
    offset = dist.get_rank(group) * weight.shape[0]
    mask = (ids >= offset) & (ids < offset + weight.shape[0])
    return F.embedding((ids - offset).clamp(min=0), weight) * mask.unsqueeze(-1)
