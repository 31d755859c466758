from dataclasses import dataclass, field
import torch
from torch import nn
from vllm.distributed import get_tensor_model_parallel_world_size as tp_world
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


@dataclass
class AttnSpec:
    hidden: int
    heads: int
    local_heads: int = field(init=False)

    def __post_init__(self):
        assert self.heads % tp_world() == 0
        self.local_heads = self.heads // tp_world()


class Mixer(nn.Module):
    def __init__(self, spec: AttnSpec):
        super().__init__()
        self.n = spec.local_heads
        self.hd = spec.hidden // spec.heads
        self.q = ColumnParallelLinear(spec.hidden, spec.hidden, bias=False)
        self.o = RowParallelLinear(spec.hidden, spec.hidden, bias=False)

    def forward(self, x):
        q, _ = self.q(x)
        q = q.view(*x.shape[:-1], self.n, self.hd)
        return self.o(q.sigmoid().flatten(-2))[0]
