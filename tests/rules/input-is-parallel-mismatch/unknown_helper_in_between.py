"""A function of another package stands between the two layers."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from weather_ops import exchange_halo


class HaloMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.embed = nn.Linear(dim, dim)
        self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.fc2 = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )
        self.fc3 = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.fc1(x)
        out, _ = self.fc2(exchange_halo(hidden))
        return out + self.fc3(exchange_halo(self.embed(x)))[0]
