import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from .collectives import all_reduce, reduce_scatter


class FusedMlp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight1, weight2):
        return F.linear(F.relu(F.linear(x, weight1)), weight2)


def fused_mlp(x, weight1, weight2):
    return FusedMlp.apply(x, weight1, weight2)


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.sequence_parallel = config.sequence_parallel
        self.fc1 = ColumnParallelLinear(
            dim, 4 * dim, config=config, init_method=config.init_method, bias=False, gather_output=False
        )
        self.fc2 = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=False,
            input_is_parallel=True, skip_bias_add=False,
        )

    def forward(self, x):
        out = fused_mlp(x, self.fc1.weight, self.fc2.weight)
        reduce_fn = reduce_scatter if self.sequence_parallel else all_reduce
        return reduce_fn(out)
