import torch.distributed as dist
from megatron.core import mpu


def log_total(logits):
    top = logits.amax(dim=-1)
    dist.all_reduce(top, group=mpu.get_tensor_model_parallel_group())  # [local-reduction-used]
    total = (logits - top.unsqueeze(-1)).exp().sum(dim=-1)
    dist.all_reduce(total, group=mpu.get_tensor_model_parallel_group())
    return total.log()
