from forecast.distributed.megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class IceDistributedHead(nn.Module):
    """Whether the copy's version has a default is not known: written out, the layer means the same in each."""

    def __init__(self, dim, config):
        super().__init__()
        self.out = RowParallelLinear(  # [input-is-parallel-implicit]
            dim, dim, config=config, init_method=config.init_method, bias=True, skip_bias_add=False
        )

    def forward(self, x):
        return self.out(x)[0]
