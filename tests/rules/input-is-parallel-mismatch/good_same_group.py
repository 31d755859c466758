from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Attention(nn.Module):
    def __init__(self, dim, alone: bool, tp_size: int, attn_size: int):
        super().__init__()
        self.q = ColumnParallelLinear(dim, dim, tp_size=attn_size)
        self.o = RowParallelLinear(dim, dim, tp_size=attn_size)
        self.single = ColumnParallelLinear(dim, dim, tp_size=1)
        self.mix = RowParallelLinear(dim, dim, tp_size=1)
        self.up = ColumnParallelLinear(dim, dim, parallel_group="attn")
        self.down = RowParallelLinear(dim, dim, parallel_group="attn")

    def forward(self, x):
        x, _ = self.o(self.q(x)[0])
        x, _ = self.mix(self.single(x)[0])
        return self.down(self.up(x)[0])[0]
