from torch import nn


class DistributedHeads(nn.Module):
    def __init__(self, heads, blocks):
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        found = []
        for head in self.heads:
            y = head(x)
            found.append(y)
        for block in self.blocks:
            x = block(x)
            if x is None:
                return found
        return x, found
