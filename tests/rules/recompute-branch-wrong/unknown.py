"""The layer is reached in other ways too, or the branch does more."""

from megatron.core.tensor_parallel import checkpoint
from torch import nn


class Cairn(nn.Module):
    def __init__(self, front, back, use_checkpoint):
        super().__init__()
        self.front, self.back, self.use_checkpoint = front, back, use_checkpoint

    def run(self, x, layer):
        return layer(x)

    def forward(self, x):
        if self.use_checkpoint:
            x = checkpoint(self.front, False, x)
        for layer in (self.front, self.back)[int(self.use_checkpoint) :]:
            x = self.run(x, layer)
        return x
