import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Grouped(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        if config.num_attention_heads % ranks or config.num_query_groups % ranks:
            raise ValueError("heads")
        self.q_size = config.num_attention_heads // ranks * width
        self.kv_size = config.num_query_groups // ranks * width
        self.project = ColumnParallelLinear(
            config.hidden_size,
            (config.num_attention_heads + 2 * config.num_query_groups) * width,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        fused = self.project(x)[0]
        q, k, v = fused.split([self.q_size, self.kv_size, self.kv_size], dim=-1)  # [fused-qkv-not-tp-invariant]
        return torch.sigmoid(q), k, v
