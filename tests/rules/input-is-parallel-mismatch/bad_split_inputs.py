import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class GatedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.gate = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x):
        gate, _ = self.gate(x)
        up, _ = self.up(x)
        out, _ = self.down(F.silu(gate) * up)  # [input-is-parallel-mismatch]
        return out


class GlobalAttention(nn.Module):
    """The output of per-rank heads is split."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.heads, self.head_dim = num_heads // tp, dim // num_heads
        self.q_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.k_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.v_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def _heads(self, x):
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self._heads(layer(x)[0]) for layer in (self.q_proj, self.k_proj, self.v_proj))
        out = F.scaled_dot_product_attention(q, k, v)
        out = out.transpose(1, 2).flatten(2)
        return self.proj(out)[0]  # [input-is-parallel-mismatch]
