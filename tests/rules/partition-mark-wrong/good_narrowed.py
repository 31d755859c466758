import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


def bounds(total, rank, ranks):
    per = total // ranks
    return rank * per, (rank + 1) * per


class Down(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = self.kept((config.num_moe_experts, config.ffn_hidden_size, config.hidden_size), 1)
        self.down = self.kept((config.num_moe_experts, config.hidden_size, config.ffn_hidden_size), -1)

    @staticmethod
    def kept(sizes, dim):
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        first, last = bounds(sizes[dim], parallel_state.get_tensor_model_parallel_rank(), ranks)
        weight = nn.Parameter(torch.ones(sizes).narrow(dim, first, last - first).contiguous())
        set_tensor_model_parallel_attributes(weight, True, dim, 1)
        return weight

    def forward(self, x):
        return x @ self.down[0] @ self.up[0]
