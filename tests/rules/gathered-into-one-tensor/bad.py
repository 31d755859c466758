import torch
import torch.distributed as dist
from megatron.core import mpu


def shapes(x):
    sizes = 4 * [torch.zeros(2, device=x.device)]  # [gathered-into-one-tensor]
    dist.all_gather(tensor_list=sizes, tensor=torch.tensor(x.shape), group=mpu.get_data_parallel_group())
    return sizes
