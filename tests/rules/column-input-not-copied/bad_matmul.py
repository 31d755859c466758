import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from torch import nn


class Low(nn.Module):
    def __init__(self, config, rank_of_update):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        self.a = nn.Parameter(torch.empty(config.hidden_size, rank_of_update // ranks))
        self.b = nn.Parameter(torch.empty(rank_of_update // ranks, config.hidden_size))
        for weight, dim in ((self.a, 1), (self.b, 0)):
            weight.tensor_model_parallel = True

    def forward(self, x):
        small = x @ self.a  # [column-input-not-copied]
        return reduce_from_tensor_model_parallel_region(small @ self.b)
