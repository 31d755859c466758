import torch
from torch import nn

from megatron.core.tensor_parallel import ColumnParallelLinear


def cut_windows(x, shift, count):
    latitude, longitude = shift
    x = torch.roll(x, shifts=(-latitude, -longitude), dims=(1, 2))
    return x.unflatten(1, (count, -1))


def join_windows(windows, shift):
    latitude, longitude = shift
    x = windows.flatten(1, 2)
    return torch.roll(x, shifts=(-latitude, -longitude), dims=(1, 2))  # [roll-unroll-mismatch]


class Skua(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.mix = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        return join_windows(self.mix(cut_windows(x, (3, 6), 4))[0], (3, 6))
