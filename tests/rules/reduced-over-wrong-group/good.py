import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region


def whole(x):
    parts = [torch.empty_like(x) for _ in range(ps.get_tensor_model_parallel_world_size())]
    dist.all_gather(parts, x, group=ps.get_tensor_model_parallel_group())
    return torch.cat(parts)


def experts(out):
    return reduce_from_tensor_model_parallel_region(out, group=ps.get_tensor_model_parallel_group())


def mean(loss):
    """Summed over the tensor-parallel ranks on purpose, then averaged over the replicas."""
    dist.all_reduce(loss, group=ps.get_tensor_model_parallel_group())
    dist.all_reduce(loss, group=ps.get_data_parallel_group())
    return loss / ps.get_data_parallel_world_size()


def with_context(loss):
    dist.all_reduce(loss, group=ps.get_data_parallel_group(with_context_parallel=True))
    return loss / ps.get_data_parallel_world_size()


def largest(value):
    dist.all_reduce(value, op=dist.ReduceOp.MAX, group=ps.get_tensor_model_parallel_group())
    return value / ps.get_data_parallel_world_size()


def norms(model, reduce):
    grads = [p.grad for p in model.parameters() if getattr(p, "sequence_parallel", False)]
    reduce(grads, ps.get_tensor_model_parallel_group())
