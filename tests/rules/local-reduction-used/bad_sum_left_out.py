import torch
import torch.distributed as dist
from megatron.core import parallel_state


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits):
        group = parallel_state.get_tensor_model_parallel_group()
        top = logits.max(dim=-1)[0]
        dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
        shifted = logits - top.unsqueeze(-1)
        grown = shifted.exp()
        total = grown.sum(dim=-1, keepdim=True)  # [local-reduction-used]
        ctx.save_for_backward(grown / total)
        return grown / total


def picked(logits, index, outside, group):
    top = logits.amax(dim=-1)
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
    logits = logits - top[..., None]
    own = logits.gather(-1, index[..., None])[..., 0].masked_fill(outside, 0.0)  # [local-reduction-used]
    total = logits.exp().sum(-1)
    dist.all_reduce(total, group=group)
    return total.log() - own
