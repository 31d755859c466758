import torch.nn.functional as F
from library import Base
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Attention(nn.Module):
    """Its number of heads is set again where it is split."""

    def __init__(self, dim, heads):
        super().__init__()
        self.n_heads, self.head_dim = heads, dim // heads
        self.wq, self.wo = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, s, _ = x.shape
        return self.wo(self.wq(x).view(b, s, self.n_heads, self.head_dim).flatten(2))


def split(attention: Attention, mesh):
    attention.n_heads //= mesh.size()
    parallelize_module(attention, mesh, {"wq": ColwiseParallel(), "wo": RowwiseParallel()})


class Wide(Base):
    """What its base builds is not seen."""

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


def split_wide(wide: Wide, mesh, plan):
    parallelize_module(wide, mesh, {"up": ColwiseParallel(), "inner.down": RowwiseParallel()})
    parallelize_module(wide, mesh, plan)


class Gathered(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.down(self.up(x))


def split_gathered(module: Gathered, mesh):
    parallelize_module(
        module,
        mesh,
        {
            "up": ColwiseParallel(output_layouts=Replicate()),
            "down": ColwiseParallel(input_layouts=Shard(-1)),
        },
    )
