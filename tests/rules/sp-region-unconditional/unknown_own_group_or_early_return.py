from megatron.core import tensor_parallel
from torch import nn


class Tokens(nn.Module):
    def __init__(self, config, group):
        super().__init__()
        self.config = config
        self.group = group

    def forward(self, x):
        x = tensor_parallel.gather_from_sequence_parallel_region(x, group=self.group)
        if not self.config.sequence_parallel:
            return x
        return tensor_parallel.gather_from_sequence_parallel_region(x)
