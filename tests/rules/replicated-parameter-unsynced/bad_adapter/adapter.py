from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Adapted(nn.Module):
    def __init__(self, dim, hidden, rank, config):
        super().__init__()
        made = dict(config=config, init_method=config.init_method, gather_output=False)
        self.main = ColumnParallelLinear(dim, hidden, **made)
        self.down = nn.Linear(dim, rank)  # [replicated-parameter-unsynced]
        self.up = ColumnParallelLinear(rank, hidden, **made)
        self.score = nn.Linear(hidden, 1)

    def forward(self, tokens):
        return self.main(tokens)[0] + self.up(self.down(tokens))[0]
