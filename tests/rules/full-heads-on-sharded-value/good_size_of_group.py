"""The TP size as a plain attribute of a group's own handle, and a quotient by a number nobody knows."""

from dataclasses import dataclass

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


@dataclass(frozen=True)
class Plan:
    tensor_group: object
    parts: int


class Query(nn.Module):
    def __init__(self, dim, num_heads, plan: Plan, config):
        super().__init__()
        size = plan.tensor_group.size
        if num_heads % size != 0:
            raise ValueError(num_heads)
        self.heads, self.some, self.head_dim = num_heads // size, num_heads // plan.parts, dim // num_heads
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q = self.q(x)[0].view(batch, tokens, self.heads, self.head_dim)
        return q, self.q(x)[0].view(batch, tokens, self.some, self.head_dim)


class Block(nn.Module):
    def __init__(self, config, plan: Plan):
        super().__init__()
        self.query = Query(config.hidden_size, config.num_heads, plan, config)

    def forward(self, x):
        return self.query(x)
