"""Uses that need a tensor: a method, a slice, scaling, a matrix product, a list that is joined."""

import torch
from megatron.core import tensor_parallel
from torch import nn


def column(width, out, config):
    return tensor_parallel.ColumnParallelLinear(
        width, out, config=config, init_method=config.init_method, gather_output=True
    )


class LatentAttention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.scale = dim**-0.5
        self.query = column(dim, dim, config)
        self.key = column(dim, dim, config)
        self.value = column(dim, dim, config)
        self.gate = column(dim, dim, config)

    def forward(self, x):
        q = self.query(x) * self.scale  # [parallel-linear-tuple-used]
        k = self.key(x)
        v = self.value(x).contiguous()  # [parallel-linear-tuple-used]
        scores = q @ k.transpose(-2, -1)  # [parallel-linear-tuple-used]
        out = scores.softmax(-1) @ v
        gate = self.gate(x)
        return torch.cat([out, gate], dim=-1)  # [parallel-linear-tuple-used]


class TokenPool(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = column(dim, dim, config)

    def forward(self, x):
        return self.fc(x)[:, 0]  # [parallel-linear-tuple-used]
