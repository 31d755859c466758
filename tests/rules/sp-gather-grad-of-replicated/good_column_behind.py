from megatron.core.tensor_parallel import ColumnParallelLinear, gather_from_sequence_parallel_region
from torch import nn


class Mean(nn.Module):
    def __init__(self, dim, classes, config):
        super().__init__()
        self.head = ColumnParallelLinear(dim, classes, config=config, init_method=config.init_method)

    def forward(self, x):
        whole = gather_from_sequence_parallel_region(x)
        return self.head(whole)[0]
