import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state


def words(ids, weight, start):
    outside = (ids < start) | (ids >= start + weight.shape[0])
    local = (ids - start).masked_fill(outside, 0)
    found = F.embedding(local, weight)
    found[outside, :] = 0.0
    dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())
    return found


def picked(logits, target, start):
    own = (target >= start) & (target < start + logits.shape[-1])
    index = (target - start) * own
    score = logits.gather(-1, index.unsqueeze(-1)).squeeze(-1) * own
    dist.all_reduce(score, group=parallel_state.get_tensor_model_parallel_group())
    return score


def best(logits, target, start):
    """A maximum over the ranks, and a look-up that no mask shifts."""
    outside = (target < start) | (target >= start + logits.shape[-1])
    top = logits.gather(-1, logits.argmax(dim=-1, keepdim=True))
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=parallel_state.get_tensor_model_parallel_group())
    return top, outside
