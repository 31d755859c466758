from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.utils import divide
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        world = parallel_state.get_tensor_model_parallel_world_size()
        self.heads_local = divide(num_heads, world)
        self.head_dim = dim // num_heads
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.k = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.num_heads = num_heads

    def forward(self, x):
        batch, tokens, _ = x.shape
        q = self.q(x)[0].view(batch, tokens, self.heads_local, self.head_dim)
        k = self.k(x)[0].view(batch, tokens, self.num_heads, self.head_dim)
        v = self.q(x)[0].reshape(batch, tokens, -1, self.head_dim)
        return q, k, v
