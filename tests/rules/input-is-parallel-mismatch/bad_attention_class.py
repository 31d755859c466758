import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from kernels import attention_with_output


class Core(nn.Module):
    """A kernel fills the output in place."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, query, key, value, mask=None):
        output = torch.empty(torch.Size((query.shape[0], self.heads)), dtype=query.dtype)
        attention_with_output(query, key, value, mask, output)
        return output.view(-1, self.heads)


class Attention(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.core = Core(heads)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x, cache):
        q = self.q(x)[0]
        return self.proj(self.core(q, cache, cache))[0]  # [input-is-parallel-mismatch]
