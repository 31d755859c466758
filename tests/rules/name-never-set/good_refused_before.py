"""What the first test refuses, the second never meets."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class StepDistributedBlock(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x, with_logits=False):
        if with_logits:
            raise ValueError("no longer supported")
        mean = self.proj(x)[0]
        if with_logits:
            return mean, logits.argmax(dim=1)
        return mean
