from megatron.core.tensor_parallel import checkpoint
from torch import nn


class Cairn(nn.Module):
    def __init__(self, front, back, use_checkpoint):
        super().__init__()
        self.front, self.back, self.use_checkpoint = front, back, use_checkpoint

    def forward(self, x):
        x = self.front(x) if self.use_checkpoint else checkpoint(self.front, False, x)  # [recompute-branch-wrong]
        if self.use_checkpoint:
            x = checkpoint(self.back, False, x)  # [recompute-branch-wrong]
        return x
