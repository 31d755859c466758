import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Fuser(nn.Module):
    """Reshape between column and row, gather_output left out, cat of full tensors, cat before a column."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(2 * dim, 4 * dim, config=config, init_method=init)
        self.fc2 = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.skip = nn.Linear(dim, dim)
        self.merge = RowParallelLinear(
            2 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x, y):
        hidden, _ = self.fc1(torch.cat([self.skip(x), self.skip(y)], dim=-1))
        batch, levels, lat, lon, _ = hidden.shape
        hidden = hidden.reshape(batch, levels * lat * lon, -1).permute(1, 0, 2).contiguous().permute(1, 0, 2)
        out, _ = self.fc2(nn.functional.gelu(hidden))
        out = out + self.skip(x)
        return self.merge(torch.cat([out, self.skip(y)], dim=-1))[0]
