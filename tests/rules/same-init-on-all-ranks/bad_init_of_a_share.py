import torch
from megatron.core import parallel_state
from torch import nn


class Filters(nn.Module):
    def __init__(self, dim, filters):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.rows = nn.Parameter(torch.empty(filters // tp, dim))
        self.rows.tensor_model_parallel = True
        self.offset = nn.Parameter(torch.empty(filters // tp))
        nn.init.trunc_normal_(self.rows.data, std=0.02)  # [same-init-on-all-ranks]
        nn.init.zeros_(self.offset)

    def forward(self, x):
        return x @ self.rows.t() + self.offset
