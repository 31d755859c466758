from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Attend(nn.Module):
    def __init__(self, width, heads, config):
        super().__init__()
        assert heads % config.tensor_model_parallel_size == 0
        self.local_heads = heads // config.tensor_model_parallel_size
        self.depth = width // heads
        made = dict(config=config, init_method=config.init_method)
        self.q = ColumnParallelLinear(width, width, gather_output=False, **made)
        self.out = RowParallelLinear(  # [per-rank-size-given]
            input_size=self.local_heads * self.depth,
            output_size=width,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        return self.out(self.q(x)[0])[0]
