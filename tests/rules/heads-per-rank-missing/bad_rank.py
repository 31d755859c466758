from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WindDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp_size = parallel_state.get_tensor_model_parallel_rank()
        self.own_heads = num_heads // tp_size  # [heads-per-rank-missing]
        self.stages = num_heads // parallel_state.get_pipeline_model_parallel_world_size()  # [heads-per-rank-missing]
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.own_heads, -1))
