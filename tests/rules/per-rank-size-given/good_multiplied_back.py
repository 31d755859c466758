from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Padded(nn.Module):
    """Each rank's share is rounded up, and the layer gets the sum of the shares."""

    def __init__(self, width, classes, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        share = -(-classes // tp)
        self.score = ColumnParallelLinear(
            width, share * tp, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.score(x)[0]
