import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


def change_mask(full, x):
    coarse = torch.zeros(x.shape[1])
    for row in range(x.shape[1]):
        coarse[row] = 1.0 if torch.any(full[row] > 0.5) else 0.0
    return coarse


class Ocean(nn.Module):
    def __init__(self, width, mask_full=None):
        super().__init__()
        self.mask_full = mask_full
        self.block = nn.Linear(width, width)

    def forward(self, x):
        mask = change_mask(self.mask_full, x) if self.mask_full is not None else None
        return self.block(x) if mask is None else self.block(x) * mask


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
        land = change_mask(self.mask_full, x)  # [mask-logic-replaced]
        return self.block(x) * land
