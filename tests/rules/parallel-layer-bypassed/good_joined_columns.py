import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, copy_to_tensor_model_parallel_region
from torch import nn


class JoinedQkv(nn.Module):
    """q, k and v by one product: column weights need no collective but the copy at the door."""

    def __init__(self, dim, config):
        super().__init__()
        options = {"config": config, "init_method": config.init_method, "bias": True, "gather_output": False}
        self.q_proj = ColumnParallelLinear(dim, dim, **options)
        self.k_proj = ColumnParallelLinear(dim, dim, **options)
        self.v_proj = ColumnParallelLinear(dim, dim, **options)
        self.proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        x = copy_to_tensor_model_parallel_region(x)
        weight = torch.cat([layer.weight for layer in (self.q_proj, self.k_proj, self.v_proj)])
        q, k, v = F.linear(x, weight).chunk(3, dim=-1)
        return self.proj(F.scaled_dot_product_attention(q, k, v))[0]
