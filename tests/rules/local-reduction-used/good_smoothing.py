import torch.distributed as dist
from megatron.core import mpu


def smoothed(logits, picked, smoothing, words):
    group = mpu.get_tensor_model_parallel_group()
    top = logits.amax(dim=-1)
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
    shifted = logits - top.unsqueeze(-1)
    total = shifted.exp().sum(dim=-1)
    dist.all_reduce(total, group=group)
    whole = shifted.sum(dim=-1)
    dist.all_reduce(whole, group=group)
    return (1 - smoothing) * (total.log() - picked) + smoothing * (total.log() - whole / words)
