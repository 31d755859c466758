import torch
from torch import nn
from vllm.model_executor.layers.layernorm import RMSNorm
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False)
        self.norm = RMSNorm(dim)

    def forward(self, x, residual):
        x, residual = self.norm(x, residual)
        h, _ = self.up(x)
        h, _ = self.down(torch.relu(h))
        return h, residual
