"""Cutting a grid (latitude, longitude) into windows, and putting it together again.

# B batch, Y latitude, X longitude (cyclic), C channel, W windows, N cells of a window
"""

import torch


def cut_windows(x, window, shift):
    """(B, Y, X, C) -> (B, W, N, C); the windows begin ``shift`` cells late."""
    if any(shift):
        x = torch.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    batch, rows, columns, channels = x.shape
    x = x.view(batch, rows // window[0], window[0], columns // window[1], window[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)


def join_windows(x, size, window, shift):
    """(B, W, N, C) -> (B, Y, X, C): undoes ``cut_windows``."""
    x = x.view(x.shape[0], size[0] // window[0], size[1] // window[1], window[0], window[1], x.shape[-1])
    x = x.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)
    if any(shift):
        x = torch.roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
    return x


def blocked_pairs(size, window, shift):
    """(W, N, N), True where a shift brought two poles together; longitude goes round and is not cut."""
    row = torch.arange(size[0])
    region = (row >= size[0] - window[0]).long() + (row >= size[0] - shift[0]).long()
    region = cut_windows(region.view(1, -1, 1, 1).expand(1, *size, 1), window, (0, 0))[0, :, :, 0]
    return region[:, :, None] != region[:, None, :]
