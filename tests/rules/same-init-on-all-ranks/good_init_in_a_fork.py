import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import get_cuda_rng_tracker
from torch import nn


class Filters(nn.Module):
    def __init__(self, dim, filters):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.rows = nn.Parameter(torch.empty(filters // tp, dim))
        self.rows.tensor_model_parallel = True
        with get_cuda_rng_tracker().fork():
            nn.init.trunc_normal_(self.rows, std=0.02)

    def forward(self, x):
        return x @ self.rows.t()
