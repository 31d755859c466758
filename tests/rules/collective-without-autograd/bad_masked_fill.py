import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def chosen_score(part, wanted):
    peak = part.detach().amax(-1)
    dist.all_reduce(peak, op=dist.ReduceOp.MAX, group=mpu.get_tensor_model_parallel_group())
    weight = torch.exp(part - peak[..., None])
    whole = weight.sum(-1)
    dist.all_reduce(whole, group=mpu.get_tensor_model_parallel_group())
    share = weight / whole[..., None]
    first = mpu.get_tensor_model_parallel_rank() * part.shape[-1]
    outside = (wanted < first) | (wanted >= first + part.shape[-1])
    index = (wanted - first).masked_fill(outside, 0)
    found = torch.gather(share, -1, index[..., None])[..., 0].masked_fill(outside, 0.0)
    dist.all_reduce(found, group=mpu.get_tensor_model_parallel_group())  # [collective-without-autograd]
    return found
