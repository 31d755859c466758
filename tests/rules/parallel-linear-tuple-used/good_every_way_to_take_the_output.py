import functools

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


def first(pair):
    return pair[0]


def add_bias_dropout(pair, residual, prob):
    out, bias = pair
    if bias is not None:
        out = out + bias
    return residual + nn.functional.dropout(out, prob)


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        column = functools.partial(ColumnParallelLinear, config=config, init_method=init, gather_output=False)
        row = functools.partial(
            RowParallelLinear, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.fc1, self.gate, self.up = column(dim, dim), column(dim, dim), column(dim, dim)
        self.fc2 = row(dim, dim)
        self.fc3 = row(dim, dim)
        self.fc4 = row(dim, dim)

    def forward(self, x):
        hidden = self.fc1(x)
        hidden = hidden[0]
        gate = self.gate(x)
        if isinstance(gate, tuple):
            gate = gate[0]
        up, *_ = self.up(x)
        hidden = hidden * gate.sigmoid() * up
        y = add_bias_dropout(self.fc2(hidden), x, 0.1)
        z = first(self.fc3(hidden))
        out, bias = self.fc4(hidden)
        return torch.stack([y, z, out if bias is None else out + bias])
