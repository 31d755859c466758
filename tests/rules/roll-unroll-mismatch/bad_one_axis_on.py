"""Restored along two axes, and moved on once more along the third."""

import torch


def to_windows(x, shift):
    z, y, x_shift = shift
    x = torch.roll(x, shifts=(-z, -y, -x_shift), dims=(1, 2, 3))
    return x.flatten(1, 3)


def merge_windows(x, shape, shift):
    z, y, x_shift = shift
    x = x.unflatten(1, shape)
    return torch.roll(x, shifts=(z, -y, x_shift), dims=(1, 2, 3))  # [roll-unroll-mismatch]
