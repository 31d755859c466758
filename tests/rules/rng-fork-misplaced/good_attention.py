"""The weights of the heads of this rank are dropped inside torch's attention."""

import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
from torch import nn


class Grebe(nn.Module):
    def __init__(self, dim, heads, rate, config):
        super().__init__()
        self.rate, self.heads = rate, heads // config.tensor_model_parallel_size
        given = dict(config=config, init_method=config.init_method, bias=True)
        self.q_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.k_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.v_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.proj = RowParallelLinear(dim, dim, input_is_parallel=True, skip_bias_add=False, **given)
        self.up = ColumnParallelLinear(dim, 4 * dim, gather_output=False, **given)
        self.down = RowParallelLinear(4 * dim, dim, input_is_parallel=True, skip_bias_add=False, **given)
        self.drop = nn.Dropout(rate)

    def forward(self, x):
        b, n, _ = x.shape
        parts = (self.q_proj(x)[0], self.k_proj(x)[0], self.v_proj(x)[0])
        q, k, v = (part.view(b, n, self.heads, -1).transpose(1, 2) for part in parts)
        rate = self.rate if self.training else 0.0
        with get_cuda_rng_tracker().fork():
            out = F.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        x = x + self.proj(out.transpose(1, 2).flatten(2))[0]
        hidden = self.up(x)[0]
        with get_cuda_rng_tracker().fork():
            hidden = self.drop(hidden)
        return x + self.down(hidden)[0]
