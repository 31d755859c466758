"""Code of a model with tensor_parallel layers."""

import torch
from torch.nn import functional as F


def channels_apart(x):
    b, t, n, c = x.shape
    return x.reshape(b * n, t, c)  # [reshape-mixes-axes]


def merge(x, rows, columns):
    x = x.view(x.shape[0], rows, columns, 2, 2, -1)
    x = x.permute(0, 1, 3, 2, 4, 5)
    good = x.reshape(x.shape[0], rows * 2, columns * 2, -1)
    y = x.permute(0, 1, 3, 2, 4, 5)
    return good, y.reshape(x.shape[0], rows * columns, -1), x.reshape(x.shape[0], rows * columns, -1)  # [reshape-mixes-axes]


def to_keys(k):
    return k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])  # [reshape-mixes-axes]


def back(q, heads):
    shape = q.shape
    q = q.view(shape[0], shape[1], heads, -1).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, q, q)
    return out.reshape(shape)  # [reshape-mixes-axes]


def inside(q, k, v):
    s, b, n, d = q.shape
    q, k, v = (x.permute(1, 2, 0, 3) for x in (q, k, v))
    scores = torch.matmul(q, k.transpose(-1, -2)) * d**-0.5
    if s > 1:
        scores = scores.masked_fill(torch.ones(s, s).triu(1).bool(), float("-inf"))
    out = torch.matmul(F.softmax(scores, dim=-1), v)
    return out.permute(2, 0, 3, 1).reshape(s, b, n * d)  # [reshape-mixes-axes]
