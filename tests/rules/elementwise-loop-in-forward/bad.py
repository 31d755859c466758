import torch
from torch import nn


class IceDistributedAttention(nn.Module):
    def bias(self, size):
        table = torch.empty((size, size))
        for row in range(size):  # [elementwise-loop-in-forward]
            for column in range(row):
                table[row, column] = row - column
        return table

    def forward(self, x):
        return x + self.bias(x.shape[-1])
