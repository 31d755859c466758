import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn
from elsewhere.pipeline import StageBase


class Ocean_stage1(StageBase):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.config = config
        self.block = nn.Linear(width, width)

    def forward(self, x=None):
        x, skip = self.input_tensor
        return x + skip
