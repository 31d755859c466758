import torch
from torch import nn
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        h, _ = self.up(x)
        h, _ = self.down(torch.relu(h))
        return tensor_model_parallel_all_reduce(h)
