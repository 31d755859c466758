from megatron.core import tensor_parallel
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def inner(self, x, scale):
        return self.down(self.up(x)) * scale

    def forward(self, x, scale):
        x = self.up(x)
        return tensor_parallel.checkpoint(self.inner, x, scale)  # [checkpoint-flag-missing]
