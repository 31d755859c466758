from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WideDistributedMlp(nn.Module):
    def __init__(self, dim, bias=True, config=None):
        super().__init__()
        if config is None:
            raise ValueError("WideDistributedMlp needs config")
        self.fc = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=bias, gather_output=True
        )


class WideDistributedFuser(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        sizes = {"dim": dim, "bias": False}
        self.first = WideDistributedMlp(**sizes)  # [config-not-forwarded]
        self.second = WideDistributedMlp(**dict(dim=dim))  # [config-not-forwarded]
        whole = dict(dim=dim, config=config)
        self.third = WideDistributedMlp(**whole)
        grown = dict(dim=dim)
        grown["config"] = config
        self.fourth = WideDistributedMlp(**grown)
