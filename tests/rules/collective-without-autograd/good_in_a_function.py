import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


class Chosen(torch.autograd.Function):
    """The backward is written by hand."""

    @staticmethod
    def forward(ctx, part, index, mask):
        whole = part.exp().sum(-1)
        dist.all_reduce(whole, group=mpu.get_tensor_model_parallel_group())
        share = part.exp() / whole.unsqueeze(-1)
        found = share.gather(-1, index.unsqueeze(-1)).squeeze(-1) * mask
        dist.all_reduce(found, group=mpu.get_tensor_model_parallel_group())
        ctx.save_for_backward(share, index, mask)
        return found


@torch.no_grad()
def measured(part, index, mask):
    whole = part.exp().sum(-1)
    dist.all_reduce(whole, group=mpu.get_tensor_model_parallel_group())
    share = part.exp() / whole.unsqueeze(-1)
    found = share.gather(-1, index.unsqueeze(-1)).squeeze(-1) * mask
    dist.all_reduce(found, group=mpu.get_tensor_model_parallel_group())
    return found
