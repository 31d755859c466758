import torch.distributed as dist
from megatron.core import parallel_state
from tokens import over_ranks


def by_helper(loss_mask, losses):
    summed = (losses * loss_mask).sum()
    tokens = loss_mask.sum()
    over_ranks(tokens)
    dist.all_reduce(summed, group=parallel_state.get_context_parallel_group())
    return summed / tokens


def split_channels(parts, weights, mask):
    """Channels are split, and every rank has the same mask."""
    total = (parts * weights).sum(dim=-1)
    dist.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
    return total.sum() / mask.sum()
