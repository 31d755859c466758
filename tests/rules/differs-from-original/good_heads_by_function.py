"""A function that returns, on one rank, what it is given."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


def heads_per_rank(dim, num_heads, tp_size):
    """Heads of a rank."""
    if dim % num_heads or num_heads % tp_size:
        raise ValueError(f"{num_heads} heads")
    return num_heads // tp_size


def attention(x, heads):
    return x.unflatten(-1, (heads, -1)).softmax(-1)


class KelpAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(dim, dim)

    def forward(self, x):
        return attention(self.q_proj(x), self.num_heads)


class KelpDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config=None):
        super().__init__()
        self.num_heads_per_rank = heads_per_rank(dim, num_heads, config.tensor_model_parallel_size)
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=False
        )

    def forward(self, x):
        q, _ = self.q_proj(x)
        return attention(q, self.num_heads_per_rank)
