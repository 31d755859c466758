"""The second function of the file restores two of three axes."""

import torch


def to_windows(x, grid):
    pressure, latitude, longitude = grid.shift
    return grid.partition(torch.roll(x, shifts=(-pressure, -latitude, -longitude), dims=(1, 2, 3)))


def merge_windows(windows, grid):
    pressure, latitude, _ = grid.shift
    return torch.roll(grid.merge(windows), shifts=(pressure, latitude), dims=(1, 2))  # [roll-unroll-mismatch]
