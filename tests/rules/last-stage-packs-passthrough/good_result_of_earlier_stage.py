"""The original has two results, and the first of them is made one stage before."""

from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Wind(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block = nn.Linear(width, width)
        self.surface = nn.Linear(width, width)
        self.upper = nn.Linear(width, width)

    def forward(self, x):
        x = self.block(x)
        return self.surface(x), self.upper(x)


class Wind_stage0(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)
        self.surface = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = checkpoint(self.block, False, x)
        return x, checkpoint(self.surface, False, x)


class Wind_stage1(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.upper = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, surface = self.input_tensor
        return surface, checkpoint(self.upper, False, x)
