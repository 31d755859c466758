from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Patches(nn.Module):
    def __init__(self, channels, dim, config):
        super().__init__()
        self.embed = nn.Conv2d(channels, dim, kernel_size=4, stride=4)
        self.mix = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )

    def forward(self, image):
        tokens = self.embed(image).flatten(2).transpose(1, 2)
        return self.mix(tokens)[0]  # [input-is-parallel-mismatch]
