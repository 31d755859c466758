from megatron.core import parallel_state
from torch import nn


class Keys(nn.Module):
    """Query heads for each key head: as many on one rank as on all."""

    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        assert heads % tp == 0 and kv_heads % tp == 0
        self.groups = int((heads // tp) / (kv_heads // tp))
        self.kv_heads, self.dim_head = kv_heads, dim // heads
        self.qkv = nn.Linear(dim, dim)

    def forward(self, x):
        tokens = x.shape[0]
        return self.qkv(x).view(tokens, self.kv_heads, self.groups + 2, self.dim_head)
