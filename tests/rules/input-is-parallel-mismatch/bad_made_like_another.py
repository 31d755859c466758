"""A tensor made like another, with the heads of one rank, holds one rank's share."""

from torch import nn
from vllm.distributed import get_tensor_model_parallel_world_size
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Padded(nn.Module):
    def __init__(self, config):
        super().__init__()
        tp = get_tensor_model_parallel_world_size()
        assert config.num_heads % tp == 0
        self.heads, self.size = config.num_heads // tp, config.size
        self.q = ColumnParallelLinear(config.dim, config.num_heads * config.size, bias=False)
        self.out = RowParallelLinear(config.width, config.dim, bias=False, input_is_parallel=False)

    def forward(self, x):
        q = self.q(x)[0].view(-1, self.heads, self.size)
        wide = q.new_empty(x.shape[0], self.heads, 2 * self.size)
        wide[..., : self.size] = q
        out, _ = self.out(wide.flatten(1, 2))  # [input-is-parallel-mismatch]
        return out
