import torch
import torch.distributed as dist
from megatron.core import mpu


@torch.no_grad()
def clip_by_global_norm(params, limit):
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.stack([g.float().pow(2).sum() for g in grads]).sum()  # [local-grad-norm]
    dist.all_reduce(total, group=mpu.get_pipeline_model_parallel_group())
    norm = total.sqrt()
    coef = (limit / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(coef)
    return norm
