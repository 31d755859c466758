import torch
from megatron.core import parallel_state
from torch import nn


class Down(nn.Module):
    def __init__(self, width, wide):
        super().__init__()
        ranks, rank = parallel_state.get_tensor_model_parallel_world_size(), parallel_state.get_tensor_model_parallel_rank()
        per = wide // ranks
        whole = torch.zeros(width, wide)
        self.down = nn.Parameter(whole[:, rank * per : (rank + 1) * per].clone())
        self.down.tensor_model_parallel = True
        self.down.partition_dim = 0  # [partition-mark-wrong]

    def forward(self, x):
        return x @ self.down.t()
