"""A count of the configuration: the configuration checks itself when it is built."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.local_heads = config.num_attention_heads // config.tensor_model_parallel_size
        self.q = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q(x)[0]
