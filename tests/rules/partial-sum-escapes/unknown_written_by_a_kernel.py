import kernels
from torch import nn
from torch.nn import functional as F
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


def experts(x, weights):
    out = x
    kernels.run(x, weights, out)
    return out


class Mixture(nn.Module):
    def __init__(self, dim, hidden, weights):
        super().__init__()
        self.weights = weights
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        shared, _ = self.down(F.gelu(self.up(x)[0]))
        final = experts(x, self.weights)
        final = final + shared
        return tensor_model_parallel_all_reduce(final)
