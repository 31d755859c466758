from text_generation_server.layers.tensor_parallel import (
    Plain,
    TensorParallelColumnLinear,
    TensorParallelRowLinear,
)
from torch import nn


def load_qkv(prefix, weights, heads, head_dim):
    weight = weights.get_sharded(f"{prefix}.weight", dim=0)
    rows = weight.view(heads, 3, head_dim, -1).permute(1, 0, 2, 3).reshape(3 * heads * head_dim, -1)
    return TensorParallelColumnLinear(Plain(rows))


class Attention(nn.Module):
    def __init__(self, prefix, config, weights):
        super().__init__()
        self.num_heads = config.num_heads // weights.process_group.size()
        self.head_dim = config.head_dim
        self.qkv = load_qkv(prefix, weights, self.num_heads, self.head_dim)
        self.dense = TensorParallelRowLinear(Plain(weights.get_sharded(f"{prefix}.dense", dim=1)), weights.process_group)

    def forward(self, x):
        qkv = self.qkv(x)
        qkv = qkv.view(-1, 3, self.num_heads, self.head_dim)
        return self.dense(qkv[:, 0])
