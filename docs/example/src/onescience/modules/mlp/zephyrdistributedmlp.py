"""The feed-forward layer, split over tensor-parallel ranks."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear


class ZephyrDistributedMlp(nn.Module):
    """Widen, activate, narrow."""

    def __init__(self, dim: int, mlp_ratio: float = 4.0, config=None, **kwargs):
        super().__init__()
        if config is None:
            raise ValueError("ZephyrDistributedMlp needs the Megatron config")
        hidden = int(dim * mlp_ratio)
        self.fc1 = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False,
            skip_bias_add=False,
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x, _ = self.fc2(x)
        return x
