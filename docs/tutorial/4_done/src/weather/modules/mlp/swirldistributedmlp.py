"""Feed-forward part of a block, split over tensor-parallel ranks."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SwirlDistributedMlp(nn.Module):
    """SwirlMlp with its hidden channels split. Input and output: (B, Y, X, C), the same on all ranks."""

    def __init__(self, dim, hidden_dim, *, config):
        super().__init__()
        self.fc1 = ColumnParallelLinear(
            dim,
            hidden_dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden_dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        shape = x.shape
        x, _ = self.fc1(x.flatten(1, 2))  # onescience: differs parallel layers take three axes
        x, _ = self.fc2(self.act(x))
        return x.view(shape)
