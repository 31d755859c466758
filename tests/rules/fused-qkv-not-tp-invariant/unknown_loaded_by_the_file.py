from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.qkv_proj = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        qkv, _ = self.qkv_proj(x)
        q, k, v = qkv.chunk(3, dim=-1)
        return q * k * v


class Model(nn.Module):
    def load_weights(self, weights, rank):
        own = self.state_dict()
        for name, weight in weights:
            for index, part in enumerate(("q_proj", "k_proj", "v_proj")):
                if part in name:
                    rows = own[name.replace(part, "qkv_proj")]
                    size = rows.shape[0] // 3
                    rows[size * index : size * (index + 1)].copy_(weight[size * rank : size * (rank + 1)])
