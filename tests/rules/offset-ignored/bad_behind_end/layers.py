"""The loop counts from the first block, and its list from 0."""

from torch import nn

from megatron.core.tensor_parallel import ColumnParallelLinear


class LarkFuser(nn.Module):
    def __init__(self, dim, depth, rates, first_block=0, *, config):
        super().__init__()
        if len(rates) != depth:
            raise ValueError("one rate for each block")
        self.blocks = nn.ModuleDict(
            {
                str(index): ColumnParallelLinear(
                    dim,
                    dim,
                    config=config,
                    init_method=lambda weight: weight.mul_(rates[index]),  # [offset-ignored]
                    gather_output=True,
                )
                for index in range(first_block, first_block + depth)
            }
        )
