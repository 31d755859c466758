from megatron.core import parallel_state
from torch import nn


class WindDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        tp_size = parallel_state.get_tensor_model_parallel_world_size()
        assert num_heads % tp_size == 0
        self.own_heads = num_heads // tp_size

    def forward(self, x):
        return x


class Wind_stage0(nn.Module):
    def __init__(self, dim, num_heads=(4, 8)):
        super().__init__()
        tp_size = parallel_state.get_tensor_model_parallel_world_size()
        self.block = WindDistributedAttention(dim, num_heads=num_heads[0] // tp_size)  # [per-rank-size-given]

    def forward(self, x):
        return self.block(x)
