from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class QueryDistributedAttention(nn.Module):
    """All queries share one key and one value, which each rank computes."""

    def __init__(self, dim, num_heads, num_kv_heads, config):
        super().__init__()
        assert num_heads % config.tensor_model_parallel_size == 0
        self.heads_per_rank = num_heads // config.tensor_model_parallel_size
        width = dim // num_heads * num_kv_heads
        self.to_q = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )
        self.to_k = nn.Linear(dim, width)
        self.to_v = nn.Linear(dim, width)

    def forward(self, x, attend):
        q, _ = self.to_q(x)
        return attend(q, self.to_k(x), self.to_v(x))
