"""Megatron sums the gradients of norms of this name itself."""

import torch
import torch.nn.functional as F
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        tp = mpu.get_tensor_model_parallel_world_size()
        init = config.init_method
        self.heads = config.num_attention_heads // tp
        self.width = config.hidden_size // config.num_attention_heads
        self.qkv = ColumnParallelLinear(
            config.hidden_size, 3 * config.hidden_size, config=config, init_method=init, gather_output=False
        )
        self.q_layernorm = nn.LayerNorm(self.width)
        self.out = RowParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=init, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )

    def forward(self, x):
        s, b, _ = x.shape
        qkv, _ = self.qkv(x)
        q, k, v = qkv.view(s, b, self.heads, 3 * self.width).chunk(3, dim=-1)
        q = self.q_layernorm(q)
        q, k, v = (part.permute(1, 2, 0, 3) for part in (q, k, v))
        o = F.scaled_dot_product_attention(q, k, v).permute(2, 0, 1, 3).reshape(s, b, self.heads * self.width)
        return self.out(o)[0]


def step(model, x, y, optimizer):
    F.mse_loss(model(x), y).backward()
    optimizer.step()
