"""What a function that works in place leaves in its tensor is not what it was given."""

from torch import nn
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear

from kernels import run


def inplace_experts(x, weights) -> None:
    run(x, weights)


def experts(x, weights):
    inplace_experts(x, weights)
    return x


class Mixture(nn.Module):
    def __init__(self, dim, hidden, weights):
        super().__init__()
        self.weights = weights
        self.first = RowParallelLinear(dim, dim, bias=False)
        self.start = ColumnParallelLinear(dim, dim, bias=False)
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        x, _ = self.first(self.start(x)[0])
        shared, _ = self.down(self.up(x)[0])
        final = experts(x, self.weights)
        return tensor_model_parallel_all_reduce(final + shared)
