"""An engine for inference alone: nobody gives a rate, or it is none."""

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from torch.nn import functional as F


class Attend(nn.Module):
    def __init__(self, heads, dropout_rate: float = 0.0):
        super().__init__()
        self.heads = heads
        self.dropout_p = dropout_rate

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout_p)


class Block(nn.Module):
    def __init__(self, heads, config):
        super().__init__()
        self.qkv = ColumnParallelLinear(heads, heads, config=config, init_method=config.init_method)
        self.first, self.second = Attend(heads, dropout_rate=0), Attend(heads)

    def forward(self, x):
        x, _ = self.qkv(x)
        return self.second(x, x, self.first(x, x, x))
