from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn

from plugins import pick_blocks


class Head(nn.Module):
    """What a norm was given as its own size may be one rank's share."""

    def __init__(self, dim, local, config):
        super().__init__()
        self.blocks = pick_blocks(config)
        self.norm = nn.LayerNorm(local)
        self.score = RowParallelLinear(
            dim, 2, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        return self.score(self.norm(self.blocks(x)).flatten(-2))[0]
