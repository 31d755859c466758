from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn

from plugins import pick_blocks


class Head(nn.Module):
    """Nothing is known of the blocks, but the norm says how many channels each rank holds."""

    def __init__(self, dim, config):
        super().__init__()
        self.blocks = pick_blocks(config)
        self.norm = nn.LayerNorm(dim)
        self.score = RowParallelLinear(
            dim, 2, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        x = self.norm(self.blocks(x))
        return self.score(x)[0]  # [input-is-parallel-mismatch]
