import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state
from table import look_up


def by_helper(ids, weight, start):
    outside = (ids < start) | (ids >= start + weight.shape[0])
    found = look_up(ids, weight, outside)
    dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())
    return found


def padded(ids, weight, start):
    """Row 0 of this table may be all zeros: the mask is none of the two comparisons."""
    outside = (ids - start).clamp(min=0) != ids - start
    found = F.embedding((ids - start).masked_fill(outside, 0), weight)
    dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())
    return found
