import tables
from torch import nn


class IceDistributedAttention(nn.Module):
    def forward(self, x):
        table = tables.empty(4, 4)
        for row in range(4):
            for column in range(4):
                table[row, column] = row - column
        return x + tables.tensor(table)
