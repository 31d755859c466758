"""Heads of one rank stay those of one rank through products with weights that nothing is known of."""

import torch
from torch import nn
from vllm.distributed import get_tensor_model_parallel_world_size
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Latent(nn.Module):
    def __init__(self, config):
        super().__init__()
        tp = get_tensor_model_parallel_world_size()
        assert config.num_heads % tp == 0
        self.heads, self.rank = config.num_heads // tp, config.rank
        self.q = ColumnParallelLinear(config.dim, config.num_heads * config.rank, bias=False)
        self.first = RowParallelLinear(config.width, config.dim, bias=False, input_is_parallel=False)
        self.second = RowParallelLinear(config.width, config.dim, bias=False, input_is_parallel=False)
        self.values = None

    def forward(self, x):
        q = self.q(x)[0].view(-1, self.heads, self.rank)
        out = torch.bmm(q.transpose(0, 1), self.values).transpose(0, 1).flatten(1, 2)
        same = torch.einsum("thc,hcd->thd", q, self.values)
        one, _ = self.first(out)  # [input-is-parallel-mismatch]
        two, _ = self.second(same.reshape(same.size(0), -1))  # [input-is-parallel-mismatch]
        return one + two
