import torch
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Norm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class Router(nn.Module):
    def __init__(self, config, experts):
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, experts, bias=False)
        self.gate.weight.sequence_parallel = config.sequence_parallel

    def forward(self, x):
        return self.gate(x)


class Model(nn.Module):
    def __init__(self, config, experts):
        super().__init__()
        self.config = config
        self.norm = Norm(config)  # [replicated-parameter-unsynced]
        self.router = Router(config, experts)

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return self.router(self.norm(x))
