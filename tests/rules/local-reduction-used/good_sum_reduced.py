import torch
import torch.distributed as dist
from helpers import over_ranks
from megatron.core import parallel_state


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits):
        group = parallel_state.get_tensor_model_parallel_group()
        top = logits.max(dim=-1)[0]
        dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
        grown = (logits - top.unsqueeze(-1)).exp()
        total = grown.sum(dim=-1, keepdim=True)
        dist.all_reduce(total, group=group)
        return grown / total


def by_helper(logits, group):
    top = logits.max(dim=-1)[0]
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
    grown = (logits - top.unsqueeze(-1)).exp()
    total = grown.sum(dim=-1, keepdim=True)
    return grown / over_ranks(total, group)


def handed_out(logits, group):
    top = logits.max(dim=-1)[0]
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
    grown = (logits - top.unsqueeze(-1)).exp()
    total = grown.sum(dim=-1)
    return grown, total
