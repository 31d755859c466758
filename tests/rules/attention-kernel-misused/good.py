"""Everything reaches the kernel; functions that may ignore what they are given; infinity where it is meant."""

import torch
from torch.nn import functional as F

from megatron.core.tensor_parallel import ColumnParallelLinear


def attend(q, k, v, bias, dropout):
    q, k, v = (x.unflatten(-1, (4, -1)).transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)
    return out.transpose(1, 2).flatten(2)


def causal(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def optional(q, k, v, attn_mask=None, dropout=0.0):
    return F.scaled_dot_product_attention(q, k, v)


def interface(q, k, v, mask, dropout):
    return F.scaled_dot_product_attention(q, k, v)


KERNELS = {"plain": interface}


def nearest(scores, mask):
    return scores.masked_fill(mask, float("inf")).argmin(-1)


def far(distance, mask):
    return distance.masked_fill(mask, torch.inf)


def hide(scores, mask):
    return scores.masked_fill(mask, float("-inf"))


def call(q, k, v, mask):
    keys = mask.view(1, 1, 1, -1)
    return attend(q, k, v, keys, 0.1), causal(q, k, v, keys), optional(q, k, v)


def cross(q, k, v, seen=None):
    q = q.view(2, 4, -1, 8)
    if seen is not None:
        seen = seen.view(1, 1, 1, -1)
    return F.scaled_dot_product_attention(q, k, v, seen)
