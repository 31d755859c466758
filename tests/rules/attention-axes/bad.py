"""Code of a model with tensor_parallel layers."""

import math

import torch
from torch.nn import functional as F


def all_channels(q, k, v, num_heads):
    shape = q.shape
    q, k, v = (x.view(shape[0], shape[1], num_heads, -1).transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, scale=shape[-1] ** -0.5)  # [attention-axes]
    return out.transpose(1, 2).reshape(shape)


def by_width(self, q, k):
    s, b, n, d = q.shape
    q, k = q.permute(1, 2, 0, 3), k.permute(1, 2, 0, 3)
    return torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.config.hidden_size)  # [attention-axes]


def unlike(q, k, v):
    s, b, n, d = q.shape
    q = q.permute(1, 2, 0, 3)
    k = k.permute(1, 0, 2, 3)
    return torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d)  # [attention-axes]


def heads_meet(q, k, b, n, num_heads):
    q = q.view(b, n, num_heads, 16)
    k = k.view(b, n, num_heads, 16)
    return (q @ k.transpose(-2, -1)).softmax(dim=-1)  # [attention-axes]
