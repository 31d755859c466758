import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Ocean_stage0(MegatronModule):
    def __init__(self, width, mask_full=None, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)
        self.mask_full = mask_full

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.block(x) * self.mask_full[0]
