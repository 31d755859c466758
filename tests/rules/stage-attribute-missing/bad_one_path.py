import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Ocean_stage1(nn.Module):
    def __init__(self, width, config=None, **kwargs):  # [stage-attribute-missing]
        super().__init__()
        self.block = nn.Linear(width, width)
        self.input_tensor, self.config = None, config
        self.share_embeddings_and_output_weights = None
        if width > 64:
            self.pre_process = None

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.block(x), skip
