from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class SharedValues(nn.Module):
    """Which dimension is split cannot be seen."""

    def __init__(self, config, shape, readers):
        super().__init__()
        self.shape = shape
        self.readers = readers
        self.value = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        v = self.value(x)[0].reshape(*self.shape)
        return v.repeat(1, 1, self.readers, 1)
