import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def joined(part, dim):
    parts = [torch.empty_like(part) for _ in range(mpu.get_tensor_model_parallel_world_size())]
    dist.all_gather(parts, part.contiguous(), group=mpu.get_tensor_model_parallel_group())
    return torch.cat(parts, dim=dim)


def export(model, path):
    state = {}
    for name, p in model.named_parameters():
        state[name] = joined(p.data, 0) if getattr(p, "tensor_model_parallel", False) else p.data  # [gather-dim-mismatch]
    if dist.get_rank() == 0:
        torch.save(state, path)


def restore(model, path):
    state = torch.load(path)
    rank, size = mpu.get_tensor_model_parallel_rank(), mpu.get_tensor_model_parallel_world_size()
    for name, p in model.named_parameters():
        whole = state[name]
        if getattr(p, "tensor_model_parallel", False):
            dim = p.partition_dim
            width = whole.shape[dim] // size
            whole = whole.narrow(dim, rank * width, width)
        p.data.copy_(whole)
