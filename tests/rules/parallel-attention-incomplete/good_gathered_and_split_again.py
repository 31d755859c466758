from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, scatter_to_tensor_model_parallel_region
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.heads = num_heads // config.tensor_model_parallel_size
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )
        self.k_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )
        self.v_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=False
        )
        self.norm = nn.LayerNorm(dim)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        q, k, v = self.q_proj(x)[0], self.k_proj(x)[0], self.v_proj(x)[0]
        q, k = scatter_to_tensor_model_parallel_region(self.norm(q)), scatter_to_tensor_model_parallel_region(k)
        out = F.scaled_dot_product_attention(*(part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v)))
        return self.proj(out.transpose(1, 2).flatten(2))[0]
