"""`state_dict_for_save_checkpoint` is what `--ckpt-format torch` calls; whether it is given cannot be seen."""

import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Ocean_stage0(nn.Module):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.config = config
        self.block = nn.Linear(width, width)

    def state_dict_for_save_checkpoint(self, prefix='', keep_vars=False):
        return self.state_dict(prefix=prefix, keep_vars=keep_vars)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return x


class Ocean_stage1(nn.Module):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.config = config
        self.block = nn.Linear(width, width)

    def state_dict_for_save_checkpoint(self, prefix='', keep_vars=False):
        return self.state_dict(prefix=prefix, keep_vars=keep_vars)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.input_tensor[0]
