import torch


def laplacian(x):
    return torch.roll(x, 1, 1) + torch.roll(x, -2, 1) + torch.roll(x, (1, 2), (1, 2)) - 3 * x
