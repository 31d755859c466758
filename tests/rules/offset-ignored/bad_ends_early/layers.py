"""The loop ends at the number of blocks, not behind the last one."""

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
                    init_method=lambda weight: weight.mul_(rates[index - first_block]),
                    gather_output=True,
                )
                for index in range(first_block, depth)  # [offset-ignored]
            }
        )
