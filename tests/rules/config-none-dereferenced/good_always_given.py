from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceDistributedMlp(nn.Module):
    """The form of the guide; whoever builds it gives the config."""

    def __init__(self, dim, config=None):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)


class IceBlock(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.mlp = IceDistributedMlp(dim, config=config)
