from torch import nn


class DistributedBlocks(nn.Module):
    """The blocks may change the state they get."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, state):
        for block in self.blocks:
            block(state)
        return state
