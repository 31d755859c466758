from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WideDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        if config is None:
            raise ValueError("WideDistributedMlp needs config")
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)


class WideDistributedFuser(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.mlp = WideDistributedMlp(dim)  # [config-not-forwarded]
