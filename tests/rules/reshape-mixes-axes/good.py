"""Code of a model with tensor_parallel layers."""

import torch
from torch.nn import functional as F


def channels_apart(x):
    b, t, n, c = x.shape
    return x.permute(0, 2, 1, 3).reshape(b * n, t, c)


def cut(x, ws):
    b, h, w, c = x.shape
    x = x.view(b, h // ws, ws, w // ws, ws, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, ws * ws, c)


def pixels(x, r):
    b, c, h, w = x.shape
    x = x.reshape(b, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(b, -1, h * r, w * r)


def bart(q, k, heads):
    b, n, c = q.shape
    q = q.view(b, n, heads, -1).transpose(1, 2).reshape(b * heads, n, -1)
    k = k.view(b, n, heads, -1).transpose(1, 2).reshape(b * heads, n, -1)
    weights = torch.bmm(q, k.transpose(1, 2)).view(b, heads, n, n).softmax(dim=-1)
    return weights.view(b * heads, n, n)


def back(q, heads):
    shape = q.shape
    q = q.view(shape[0], shape[1], heads, -1).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, q, q)
    return out.transpose(1, 2).reshape(shape)


def inside(q, k, v):
    s, b, n, d = q.shape
    q, k, v = (x.permute(1, 2, 0, 3) for x in (q, k, v))
    out = torch.matmul(torch.matmul(q, k.transpose(-1, -2)).softmax(dim=-1), v)
    return out.permute(2, 0, 1, 3).reshape(s, b, n * d)
