import torch.distributed as dist
from megatron.core import parallel_state


def reduce_marked(parameters):
    """A library for others: whoever steps calls it."""
    for p in parameters:
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=parallel_state.get_tensor_model_parallel_group())
