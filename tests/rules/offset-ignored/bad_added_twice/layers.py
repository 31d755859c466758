"""The loop begins at the first block, and its number is added once more."""

from torch import nn

from megatron.core.tensor_parallel import ColumnParallelLinear


class LarkFuser(nn.Module):
    def __init__(self, dim, depth, rates, first_block=0, *, config):
        super().__init__()
        if len(rates) != depth:
            raise ValueError("one rate for each block")
        self.blocks = nn.ModuleDict(
            {
                str(first_block + index): ColumnParallelLinear(  # [offset-ignored]
                    dim,
                    dim,
                    config=config,
                    init_method=lambda weight: weight.mul_(rates[0]),
                    gather_output=True,
                )
                for index in range(first_block, depth)
            }
        )
