from megatron.core import parallel_state
from torch import nn


class Keys(nn.Module):
    """All heads, by rank and by head of the rank."""

    def __init__(self, dim, heads):
        super().__init__()
        self.tp = parallel_state.get_tensor_model_parallel_world_size()
        assert heads % self.tp == 0
        self.local = heads // self.tp
        self.dim_head = dim // heads
        self.k = nn.Linear(dim, dim)

    def forward(self, x):
        tokens, batch, _ = x.shape
        k = self.k(x)
        return k.reshape(tokens, batch, self.tp, self.local, self.dim_head)
