from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedMix(nn.Module):
    def __init__(self, dim, normed, config):
        super().__init__()
        self.normed = normed
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)
        if self.normed:
            raise NotImplementedError("no norm of the query yet")

    def forward(self, x):
        x, _ = self.inner(x)
        if self.normed:
            x = self.norm(x)
        return x
