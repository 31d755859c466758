import torch
import torch.distributed as dist
import torch.nn.functional as F


def _a2a(x, scatter_dim, gather_dim, group):
    n = dist.get_world_size(group)
    ins = [t.contiguous() for t in x.chunk(n, scatter_dim)]
    outs = [torch.empty_like(ins[0]) for _ in range(n)]
    dist.all_to_all(outs, ins, group=group)
    return torch.cat(outs, gather_dim)


def ulysses(q, k, v, group):
    """(batch, sequence / n, heads, dim)"""
    q, k, v = (_a2a(t, 2, 1, group) for t in (q, k, v))
    o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)
    return _a2a(o, 1, 2, group)
