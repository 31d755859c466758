"""Code of a model with tensor_parallel layers."""

import torch


def other_name(key, batch):
    b, n, h, d = key.shape
    return key.view(batch * n, h, d)


def by_branch(x, first):
    b, t, n, c = x.shape
    if first:
        x = x.permute(0, 2, 1, 3)
    return x.reshape(b * n, t, c)


def from_elsewhere(self, x):
    b, n, c = x.shape
    y = self.mix(x)
    return y.view(n, b, c)


def new_size(x, y):
    b, n, c = x.shape
    n, b, c = y.shape
    return x.reshape(b, n, c), torch.zeros(n)


def split_width(w, dim, n_heads):
    w = w.reshape(n_heads, 2, dim // n_heads // 2, dim)
    return w.transpose(2, 1).reshape(dim, dim)


def kernel_layout(key_cache):
    blocks, size, heads, width = key_cache.shape
    return key_cache.view(blocks, heads, size, width)
