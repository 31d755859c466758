from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    gather_from_tensor_model_parallel_region,
)
from torch import nn


class PerRankNorm(nn.Module):
    """Everything between the two layers is sized for one rank."""

    def __init__(self, dim, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert dim % tp == 0
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.norm = nn.LayerNorm(4 * dim // tp)
        self.mix = nn.Linear(4 * dim // tp, 4 * dim // tp)
        self.fc2 = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.fc1(x)
        hidden = self.mix(self.norm(hidden))
        return x + self.fc2(hidden)[0]


class GatheredHead(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        out = gather_from_tensor_model_parallel_region(self.fc(x)[0])
        return self.norm(out)
