"""Three parts that are no q, k and v."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Modulation(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.linear = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, condition):
        shift, scale, gate = self.linear(condition)[0].chunk(3, dim=-1)
        return shift, scale, gate
