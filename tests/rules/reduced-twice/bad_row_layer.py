import torch
import torch.distributed as dist
from torch import nn
from fairscale.nn.model_parallel.initialize import get_model_parallel_group as tp_group
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(
            ColumnParallelLinear(d, 4 * d, gather_output=False), nn.GELU(), RowParallelLinear(4 * d, d, input_is_parallel=True)
        )

    def forward(self, x):
        y = self.ff(self.norm(x))
        dist.all_reduce(y, group=tp_group())  # [reduced-twice]
        return x + y
