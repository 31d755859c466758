from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear
from onescience.distributed.megatron.training import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from torch import nn


class IceDistributedMlp(nn.Module):
    def __init__(self, dim):  # [config-parameter-missing]
        super().__init__()
        config = core_transformer_config_from_args(get_args())
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
