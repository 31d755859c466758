"""A list of one hides a module on purpose; layers without weights lose nothing; others are moved and trained by hand."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedFuser(nn.Module):
    def __init__(self, dim, config, depth):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)
        self.teacher = [nn.Linear(dim, dim)]
        self.activations = [nn.GELU(), nn.Identity()]
        self.experts = [nn.Linear(dim, dim) for _ in range(depth)]

    def forward(self, x):
        for activation in self.activations:
            x = activation(x)
        for expert in self.experts:
            x = expert(x)
        return self.teacher[0](x)

    def place(self, device):
        for expert in self.experts:
            expert.to(device)


class Trained(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = [nn.Linear(dim, dim) for _ in range(depth)]

    def parameters(self, recurse=True):
        for block in self.parts():
            yield from block.parameters()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
