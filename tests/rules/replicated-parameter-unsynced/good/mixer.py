import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mixer(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Parameter(torch.ones(dim))
        self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=config.init_method)
        self.fc2 = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
            skip_bias_add=False,
        )
        for parameter in self.parameters():
            parameter.sequence_parallel = config.sequence_parallel

    def forward(self, x):
        y, _ = self.fc1(self.norm(x) * self.gate)
        return self.fc2(y)[0]
