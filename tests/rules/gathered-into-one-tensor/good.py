import torch
import torch.distributed as dist
from megatron.core import mpu


def shapes(x, size):
    sizes = [torch.zeros(2, device=x.device) for _ in range(size)]
    dist.all_gather(sizes, torch.tensor(x.shape), group=mpu.get_data_parallel_group())
    alone = [torch.empty_like(x)] * 1
    dist.all_gather(alone, x, group=mpu.get_data_parallel_group())
    found = [None] * size
    dist.all_gather_object(found, size)
    sent = [torch.ones_like(x)] * size  # what is sent may be one tensor
    dist.all_to_all(sizes, sent)
    return sizes, found
