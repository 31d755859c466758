"""The distributed blocks return after the first of them."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import RowParallelLinear


class SiltFuser(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


class SiltDistributedFuser(nn.Module):
    def __init__(self, dim, depth, config=None):
        super().__init__()
        self.blocks = nn.ModuleList(
            [
                RowParallelLinear(
                    dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False
                )
                for _ in range(depth)
            ]
        )

    def forward(self, x):
        for block in self.blocks:  # [differs-from-original]
            out, _ = block(x)
            return x + out
