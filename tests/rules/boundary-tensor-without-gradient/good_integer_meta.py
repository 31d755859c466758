import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Swell_stage0(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.embed = nn.Conv2d(3, width, 4, 4)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.embed(x)
        B, C, H, W = x.shape
        x = x.flatten(2).transpose(1, 2).contiguous()
        meta = torch.tensor([B, H, W], device=x.device, dtype=torch.int64)
        return (x, meta)


class Swell_stage1(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, meta = self.input_tensor
        return (checkpoint(self.block, False, x), meta)


class Swell_stage2(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, meta = self.input_tensor
        rows, lat, lon = (int(size.item()) for size in meta)
        return self.block(x).transpose(1, 2).reshape(rows, -1, lat, lon)
