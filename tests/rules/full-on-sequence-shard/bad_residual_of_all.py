from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, scatter_to_sequence_parallel_region
from torch import nn


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.up = ColumnParallelLinear(
            config.hidden_size,
            config.ffn_hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )
        self.gate = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=True
        )
        self.down = RowParallelLinear(
            config.ffn_hidden_size,
            config.hidden_size,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        hidden = self.up(x)[0].relu()
        gate = self.gate(x)[0].sigmoid()
        return x + gate * self.down(hidden)[0]  # [full-on-sequence-shard]
