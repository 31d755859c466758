"""Window attention cut out of one file: a bias of plus infinity, a mask along queries, heads left where they are."""

from torch.nn import functional as F

from megatron.core.tensor_parallel import ColumnParallelLinear


def hide(bias, blocked):
    return bias.masked_fill(blocked[:, None], float("inf"))  # [attention-kernel-misused]


def attend(q, k, v, seen, dropout):
    q, k, v = (x.unflatten(-1, (4, -1)).transpose(1, 2) for x in (q, k, v))
    seen = seen.view(1, 1, -1, 1)  # [attention-kernel-misused]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)  # [attention-kernel-misused]
    return out.flatten(2)  # [attention-kernel-misused]


def call(q, k, v, seen):
    return attend(q, k, v, seen, 0.1)


def cross(q, k, v, seen=None):
    if seen is not None:
        seen = seen.view(1, 1, 1, -1)
    return F.scaled_dot_product_attention(q, k, v)  # [attention-kernel-misused]
