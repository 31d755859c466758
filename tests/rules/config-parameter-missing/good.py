from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.training import get_args
from megatron.training.arguments import core_transformer_config_from_args
from torch import nn


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, megatron_config):
        super().__init__()
        self.fc1 = ColumnParallelLinear(
            dim, dim, config=megatron_config, init_method=nn.init.zeros_, gather_output=False
        )


class IceBlock(nn.Module):
    """Takes its config from the arguments of the run."""

    def __init__(self, dim):
        super().__init__()
        self.mlp = IceDistributedMlp(dim, megatron_config=core_transformer_config_from_args(get_args()))
