import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class SharedValues(nn.Module):
    """Eight queries read two values."""

    def __init__(self, config, width, readers):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        if config.num_query_groups % ranks:
            raise ValueError("groups")
        self.mine = config.num_query_groups // ranks
        self.width = width
        self.readers = readers
        self.value = ColumnParallelLinear(
            config.hidden_size,
            config.num_query_groups * width,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        s, b, _ = x.shape
        v = self.value(x)[0].reshape(s, b, self.mine, self.width)
        v = v.permute(1, 2, 0, 3)
        return torch.tile(v, (1, self.readers, 1, 1))  # [kv-heads-tiled]
