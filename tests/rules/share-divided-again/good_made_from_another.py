"""A function of a class that takes no `self`: what it is given is another module."""

from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Widen(nn.Module):
    def __init__(self, channels, config):
        super().__init__()
        self.channels = channels
        self.inner = ColumnParallelLinear(
            channels, channels, config=config, init_method=config.init_method, gather_output=True
        )


class SplitWiden(Widen):
    def __init__(self, channels, config):
        super().__init__(channels, config)
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert self.channels % ranks == 0
        self.channels = self.channels // ranks

    def forward(self, x):
        return self.inner(x)[0][..., : self.channels]

    def from_whole(module, config):
        return SplitWiden(module.channels, config)
