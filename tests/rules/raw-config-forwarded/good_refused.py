import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn
from onescience.distributed.megatron.training import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.modules import OneFuser


class Ocean_stage0(nn.Module):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        self.block = nn.Linear(width, width)
        if config is None:
            raise ValueError('give the config')
        self.config = tuned(config)
        self.layer = OneFuser(style='OceanDistributedFuser', dim=width, config=config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return checkpoint(self.layer, False, x)
