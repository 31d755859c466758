import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mixer(nn.Module):
    def __init__(self, dim, heads, size, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        assert heads % tp == 0
        self.heads, self.size = heads // tp, size
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.row = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )
        self.sized = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )
        self.viewed = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x, kernels):
        u = self.up(x)[0]
        out = torch.empty(x.shape[0], x.shape[1], dtype=x.dtype)
        torch.ops.mixers.scan(u, out, 1)
        y = self.row(out)[0]  # [input-is-parallel-mismatch]
        state = torch.zeros((x.shape[0], self.heads, self.size), dtype=x.dtype)
        y = y + self.sized(state.flatten(1))[0]  # [input-is-parallel-mismatch]
        seen = kernels.run(x).reshape(-1, self.heads * self.size)
        return y + self.viewed(seen)[0]  # [input-is-parallel-mismatch]
