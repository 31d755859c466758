from torch import nn


class DistributedFuser(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        x = x + 1
        for layer in self.layers:
            x = layer(x)
            return x  # [loop-result-not-carried]
