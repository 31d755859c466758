from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.training import get_args
from torch import nn


class Falls(nn.Module):
    """Fills its own config in."""

    def __init__(self, dim, config=None):
        super().__init__()
        config = config or get_args().config
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


class Block(nn.Module):
    def __init__(self, dim, config, options):
        super().__init__()
        self.one = Falls(dim)
        self.two = ColumnParallelLinear(dim, dim, init_method=nn.init.zeros_, **options)
