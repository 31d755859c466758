from megatron.core import parallel_state
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Scan(nn.Module):
    """Its convolution runs on the channels of this rank, or on those that the caller counts."""

    def __init__(self, inner, given, dim, config):
        super().__init__()
        share = inner // parallel_state.get_tensor_model_parallel_world_size()
        self.conv = nn.Conv1d(share, share, kernel_size=4, groups=share)
        self.other = nn.Conv1d(given.channels(), given.channels(), kernel_size=4)
        self.out = RowParallelLinear(
            inner, dim, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )

    def forward(self, x):
        return self.out(self.conv(x).transpose(1, 2))[0] + self.out(self.other(x).transpose(1, 2))[0]
