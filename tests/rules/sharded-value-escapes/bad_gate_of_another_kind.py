import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Gated(nn.Module):
    def __init__(self, config, wide):
        super().__init__()
        self.open = RowParallelLinear(
            config.hidden_size,
            wide,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=False,
            skip_bias_add=False,
        )
        self.up = ColumnParallelLinear(
            config.hidden_size, wide, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x, labels):
        hidden = self.up(x)[0] * torch.sigmoid(self.open(x)[0])  # [sharded-value-escapes]
        logits = self.up(x)[0][1:].float().flatten(0, 1)
        return hidden, F.cross_entropy(logits, labels)  # [sharded-value-escapes]
