import torch
from megatron.core import parallel_state
from torch import nn


class Bias(nn.Module):
    def __init__(self, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.mine = config.num_attention_heads // ranks
        self.bias = nn.Parameter(torch.zeros(config.num_attention_heads, config.kv_channels))

    def forward(self, q):
        rank = parallel_state.get_tensor_model_parallel_rank()
        own = self.bias.narrow(0, rank * self.mine, self.mine)
        if rank == 0:
            return q + own + self.bias[: self.mine]
        return q + self.bias[rank * self.mine : (rank + 1) * self.mine]
