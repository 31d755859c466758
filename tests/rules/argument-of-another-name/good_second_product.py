"""Two products of a feed-forward: the inner size of the second is the outer one of the first."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


def gemm(x, weight, size_n, size_k):
    return x.view(-1, size_k) @ weight.view(size_k, size_n)


class Experts(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.router = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x, up, down, size_n, size_k):
        hidden = gemm(x, up, size_n=2 * size_n, size_k=size_k)
        return gemm(hidden, down, size_n=size_k, size_k=size_n)
