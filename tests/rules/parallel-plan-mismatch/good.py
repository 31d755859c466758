import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n_heads, self.head_dim = heads, dim // heads
        self.wq = nn.Linear(dim, dim)
        self.wo = nn.Linear(dim, dim)

    def forward(self, x):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, -1, self.head_dim).transpose(1, 2)
        return self.wo(F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(b, s, -1))


class Gated(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.Linear(dim, hidden)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)
        self.ffn = Gated(dim, 4 * dim)
        self.blocks = nn.ModuleList(nn.Linear(dim, dim) for _ in range(2))

    def forward(self, x):
        return x + self.ffn(self.attention(x))


def split(block, mesh):
    assert isinstance(block, Block)
    parallelize_module(
        block,
        mesh,
        {
            "attention.wq": ColwiseParallel(),
            "attention.wo": RowwiseParallel(),
            "ffn.w1": ColwiseParallel(),
            "ffn.w3": ColwiseParallel(),
            "ffn.w2": RowwiseParallel(),
            "blocks.0": ColwiseParallel(),
        },
    )
