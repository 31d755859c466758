from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class EarthAttentionDistributed(nn.Module):
    """Leaves the output split for the projection of its caller."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.heads = num_heads // tp
        self.v_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        value, _ = self.v_proj(x)
        return value.softmax(dim=1)


class EarthAttentionPlain(nn.Module):
    def __init__(self, dim, num_heads, config=None):
        super().__init__()
        self.v_proj = nn.Linear(dim, dim)

    def forward(self, x):
        return self.v_proj(x).softmax(dim=1)
