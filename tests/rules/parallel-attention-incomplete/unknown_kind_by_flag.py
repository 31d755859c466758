"""Whether the key is parallel is a flag's business."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn

from weather.layers import make_projection


class DistributedAttention(nn.Module):
    def __init__(self, dim, config, split_keys):
        super().__init__()
        init = config.init_method
        self.heads_per_rank = config.heads // config.tensor_model_parallel_size
        self.q_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.k_proj = (
            ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
            if split_keys
            else nn.Linear(dim, dim)
        )
        self.v_proj = make_projection(dim)

    def forward(self, x):
        return self.q_proj(x)[0], self.v_proj(x)
