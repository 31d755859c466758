from megatron.core.tensor_parallel import checkpoint
from torch import nn


class Cairn(nn.Module):
    def __init__(self, front, back, use_checkpoint, no_checkpoint=False):
        super().__init__()
        self.front, self.back, self.use_checkpoint = front, back, use_checkpoint
        self.no_checkpoint = no_checkpoint

    def forward(self, x):
        if not self.use_checkpoint:
            x = self.front(x)
        else:
            x = checkpoint(self.front, False, x)
        x = self.front(x) if self.no_checkpoint else checkpoint(self.front, False, x)
        if self.use_checkpoint and self.training:
            return checkpoint(self.back, False, x)
        return self.back(x)
