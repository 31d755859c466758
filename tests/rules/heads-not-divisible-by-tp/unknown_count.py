"""The head count is read from a configuration, or computed."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedAttention(nn.Module):
    def __init__(self, dim, cfg, config, head_dim=64):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert cfg.num_heads % tp == 0
        self.heads = cfg.num_heads // tp
        self.kv_heads = (dim // head_dim) // tp
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
