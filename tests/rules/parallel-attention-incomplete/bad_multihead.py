from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class LevelAttention(nn.Module):
    """nn.MultiheadAttention between two parallel layers."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        self.pre = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.attn = nn.MultiheadAttention(dim, num_heads, batch_first=True)  # [parallel-attention-incomplete]
        self.post = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x):
        x, _ = self.pre(x)
        x, _ = self.attn(x, x, x)
        return self.post(x)[0]
