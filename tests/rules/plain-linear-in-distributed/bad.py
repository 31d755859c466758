from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class PanguDistributedFuser(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=True
        )
        self.attn = nn.MultiheadAttention(dim, num_heads)  # said by parallel-attention-incomplete
        self.mlp = Mlp(dim, 4 * dim)  # [plain-linear-in-distributed]
        self.head = nn.Linear(dim, 2 * dim)  # [plain-linear-in-distributed]

    def forward(self, x):
        q, k, v = self.qkv(x)[0].chunk(3, dim=-1)
        return self.head(self.mlp(self.attn(q, k, v)[0]))
