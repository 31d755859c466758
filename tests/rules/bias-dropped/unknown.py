"""Whether there is a bias, and whether the layer adds it, is the configuration's business."""

from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, config, fuse):
        super().__init__()
        init = config.init_method
        self.maybe_bias = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=config.add_bias_linear, input_is_parallel=False,
            skip_bias_add=True,
        )
        self.maybe_skips = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=fuse
        )

    def forward(self, x):
        x, _ = self.maybe_bias(x)
        return self.maybe_skips(x)[0]
