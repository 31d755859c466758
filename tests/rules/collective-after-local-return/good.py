import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def gather(value):
    parts = [torch.empty_like(value) for _ in range(ps.get_tensor_model_parallel_world_size())]
    dist.all_gather(parts, value, group=ps.get_tensor_model_parallel_group())
    if ps.get_tensor_model_parallel_rank() > 0:
        return None
    return parts


def logits(hidden, head):
    if not ps.is_pipeline_last_stage():
        return hidden
    out = head(hidden)
    dist.all_reduce(out, group=ps.get_tensor_model_parallel_group())
    return out


def flat_reduce(grads, group):
    """The same parameters on every rank of the group: all leave or none."""
    if not grads:
        return
    flat = torch.cat([g.reshape(-1) for g in grads])
    dist.all_reduce(flat, group=group)


def check(value):
    if dist.get_rank() == 0 and value < 0:
        raise ValueError(value)
    dist.barrier()


def alone(path):
    if ps.get_tensor_model_parallel_world_size() == 1:
        return
    dist.barrier(group=ps.get_tensor_model_parallel_group())
