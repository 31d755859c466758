"""Code of a model with tensor_parallel layers."""

import torch
from torch.nn import functional as F


def elsewhere(self, q, k, v):
    q, k, v = self.split(q), self.split(k), self.split(v)
    return F.scaled_dot_product_attention(q, k, v, scale=self.scale)


def other_names(q, k):
    b, n, m, d = q.shape
    rows, heads, size, _ = k.shape
    return torch.matmul(q, k)
