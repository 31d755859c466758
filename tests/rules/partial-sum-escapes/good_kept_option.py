"""An experts' layer that is not followed to its end keeps the option that it was given."""

from torch import nn
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.model_executor.layers.linear import MergedColumnParallelLinear, RowParallelLinear

from kernels import fused


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = MergedColumnParallelLinear(dim, [hidden] * 2, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        return self.down(self.up(x)[0])[0]


class Experts(nn.Module):
    def __init__(self, depth, reduce_results=True):
        super().__init__()
        self.reduce_results = reduce_results
        self.inner = Experts(depth - 1, reduce_results=False) if depth > 0 else None

    def forward(self, x):
        out = fused(x)
        if self.reduce_results:
            out = tensor_model_parallel_all_reduce(out)
        return out


class Moe(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.experts = Experts(3, reduce_results=False)
        self.shared = Mlp(config.dim, config.hidden)

    def forward(self, x):
        out = self.experts.inner.inner.inner(x) * 2.5 + self.shared(x)
        return tensor_model_parallel_all_reduce(out)
