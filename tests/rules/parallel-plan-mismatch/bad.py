import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n_heads, self.head_dim = heads, dim // heads
        self.wq = nn.Linear(dim, dim)
        self.wk = nn.Linear(dim, dim)
        self.wv = nn.Linear(dim, dim)
        self.wo = nn.Linear(dim, dim)

    def forward(self, x):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, self.n_heads, self.head_dim)  # [parallel-plan-mismatch]
        k = self.wk(x).view(b, s, self.n_heads, self.head_dim)
        v = self.wv(x).view(b, s, self.n_heads, self.head_dim)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.wo(y.transpose(1, 2).reshape(b, s, -1))


class Gated(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.Linear(dim, hidden)

    def forward(self, x):
        h = F.silu(self.w1(x)) * self.w3(x)
        return self.w2(h)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)
        self.ffn = Gated(dim, 4 * dim)

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.ffn(x)


def split(block: Block, mesh):
    plan = {
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attn.wo": RowwiseParallel(),  # [parallel-plan-mismatch]
        "ffn.w1": ColwiseParallel(),
        "ffn.w3": ColwiseParallel(),
        "ffn.w2": ColwiseParallel(),  # [parallel-plan-mismatch]
    }
    return parallelize_module(block, mesh, plan)


class Wide(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate, self.up, self.last = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.last(F.silu(self.gate(x)) * self.up(x))


def split_wide(wide: Wide, mesh):
    parallelize_module(
        wide,
        mesh,
        {
            "gate": ColwiseParallel(),
            "up": RowwiseParallel(),  # [parallel-plan-mismatch]
            "last": RowwiseParallel(),
        },
    )


class Narrow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lift, self.sink = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.sink(F.gelu(self.lift(x)))


def split_narrow(narrow: Narrow, mesh):
    parallelize_module(narrow, mesh, {"lift": ColwiseParallel()})  # [parallel-plan-mismatch]
