import torch
import torch.distributed as dist
from megatron.core import mpu


def picked(logits, labels):
    width = logits.size(-1)
    start = mpu.get_tensor_model_parallel_rank() * width
    outside = (labels < start) | (labels >= start + width)
    local = (labels - start).masked_fill(outside, 0)
    found = torch.gather(logits, -1, local.unsqueeze(-1)).squeeze(-1)
    found = found.masked_fill(outside, 0.0)
    dist.all_reduce(found, group=mpu.get_data_parallel_group())  # [lookup-not-masked]
    return found
