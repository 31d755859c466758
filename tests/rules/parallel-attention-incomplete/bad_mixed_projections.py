from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class CrossDistributedAttention(nn.Module):
    """The query was converted, key and value were forgotten."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        assert num_heads % config.tensor_model_parallel_size == 0
        self.heads_per_rank = num_heads // config.tensor_model_parallel_size
        self.to_q = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=True
        )
        self.to_k = nn.Linear(dim, dim)  # [parallel-attention-incomplete]
        self.to_v = nn.Linear(dim, dim)

    def forward(self, x, memory):
        q, _ = self.to_q(x)
        return nn.functional.scaled_dot_product_attention(q, self.to_k(memory), self.to_v(memory))
