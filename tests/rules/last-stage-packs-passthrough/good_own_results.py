import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Ocean(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block = nn.Linear(width, width)

    def forward(self, x):
        skip = self.block(x)
        x = self.block(self.block(skip))
        return self.block(x + skip), x


class Ocean_stage0(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        skip = self.block(x)
        x = checkpoint(self.block, False, skip)
        return x, skip


class Ocean_stage1(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        x = checkpoint(self.block, False, x)
        return x, skip


class Ocean_stage2(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        field = self.block(x + skip)
        return field, self.block(field)
