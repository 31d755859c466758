import torch
from megatron.core import parallel_state
from torch import nn


class Bias(nn.Module):
    def __init__(self, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        if config.num_attention_heads % ranks:
            raise ValueError("heads")
        self.mine = config.num_attention_heads // ranks
        self.bias = nn.Parameter(torch.zeros(config.num_attention_heads, config.kv_channels))

    def forward(self, q):
        own = self.bias.narrow(0, 0, self.mine)  # [rank-offset-missing]
        return q + own
