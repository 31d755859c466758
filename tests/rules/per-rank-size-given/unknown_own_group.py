from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Grouped(nn.Module):
    """Split once over the TP ranks by hand, and once more over a group of its own."""

    def __init__(self, width, hidden, group, config):
        super().__init__()
        share = hidden // parallel_state.get_tensor_model_parallel_world_size()
        self.up = ColumnParallelLinear(
            width, share, config=config, init_method=config.init_method, gather_output=False, tp_group=group
        )

    def forward(self, x):
        return self.up(x)[0]
