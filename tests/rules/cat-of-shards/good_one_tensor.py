import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Turn(nn.Module):
    """The halves of one tensor, turned and put together again."""

    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.down = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=False, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        x, _ = self.up(x)
        half = x.shape[-1] // 2
        x = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return self.down(x)[0]
