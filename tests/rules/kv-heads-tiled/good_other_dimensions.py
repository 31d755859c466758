from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class SharedValues(nn.Module):
    """The batch is repeated, the heads are not; a group is expanded beside itself."""

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

    def forward(self, x, beams):
        s, b, _ = x.shape
        v = self.value(x)[0].reshape(s, b, self.mine, self.width)
        v = v.repeat(1, beams, 1, 1)
        v = v.unsqueeze(3).expand(-1, -1, -1, self.readers, -1)
        return v.reshape(s, b * beams, self.mine * self.readers, self.width)
