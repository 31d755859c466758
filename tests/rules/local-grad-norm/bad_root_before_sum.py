import torch.distributed as dist
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import param_is_not_tensor_parallel_duplicate


def clip(params, limit):
    total = sum(p.grad.float().pow(2).sum() for p in params if param_is_not_tensor_parallel_duplicate(p))
    total = total.sqrt()  # [local-grad-norm]
    dist.all_reduce(total, group=mpu.get_model_parallel_group())
    for p in params:
        p.grad.mul_(limit / (total + 1e-6))
