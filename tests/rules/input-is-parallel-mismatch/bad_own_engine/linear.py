import torch
import torch.distributed as dist
from torch import nn


class Sized(nn.Module):
    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.weight.weight_loader = self.weight_loader

    def weight_loader(self, param, loaded):
        param.data.copy_(loaded)


class ColumnParallelLinear(Sized):
    """No collective: each rank keeps its part."""

    def __init__(self, input_size, output_size, bias=False):
        tp_size = dist.get_world_size()
        assert output_size % tp_size == 0
        super().__init__(output_size // tp_size, input_size)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class RowParallelLinear(Sized):
    def __init__(self, input_size, output_size, bias=False, return_bias=True):
        self.tp_size = dist.get_world_size()
        self.return_bias = return_bias
        assert input_size % self.tp_size == 0
        super().__init__(output_size, input_size // self.tp_size)

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight)
        if self.tp_size > 1:
            dist.all_reduce(y)
        if not self.return_bias:
            return y
        return y, None
