import torch


def attend(x, grid, attention):
    rows, columns = grid.shift
    x = torch.roll(x, shifts=(rows, columns), dims=(1, 2))
    x = grid.merge(attention(grid.partition(x)))
    return torch.roll(x, shifts=(rows, columns), dims=(1, 2))  # [roll-unroll-mismatch]
