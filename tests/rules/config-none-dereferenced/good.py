from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.training import get_args
from megatron.training.arguments import core_transformer_config_from_args
from torch import nn


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        if config is None:
            raise ValueError("IceDistributedMlp needs config: pass the stage's")
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)


class SnowDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        config = config or core_transformer_config_from_args(get_args())
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)


class HailDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        init = config.init_method if config is not None else nn.init.zeros_
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
