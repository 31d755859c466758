"""A transformer block of a weather model, converted layer by layer from nn.Linear."""

import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SwinMlp(nn.Module):
    def __init__(self, dim, config, ratio=4, drop=0.0):
        super().__init__()
        hidden = ratio * dim
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, hidden, config=config, init_method=init, gather_output=False)
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.fc1(x)
        x = F.gelu(x)  # [parallel-linear-tuple-used]
        x = self.drop(x)
        return self.fc2(x)


class SwinBlock(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = SwinMlp(dim, config)

    def forward(self, x):
        return x + self.mlp(self.norm(x))  # [parallel-linear-tuple-used]
