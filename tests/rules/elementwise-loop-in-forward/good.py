import torch
from torch import nn


def table_of(size):
    table = torch.empty((size, size))
    for row in range(size):
        for column in range(size):
            table[row, column] = row - column
    return table


class IceDistributedAttention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("bias", table_of(size))

    def forward(self, x):
        rows = torch.zeros_like(x)
        for row in range(x.shape[0]):
            rows[row] = x[row] * row
        return rows + self.bias
