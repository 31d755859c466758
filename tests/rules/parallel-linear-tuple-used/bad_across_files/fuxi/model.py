from torch import nn

from . import Block


class Fuxi_stage1(nn.Module):
    """Holds the blocks; this is the file that speaks of the pipeline."""

    def __init__(self, dim=192, depth=4, config=None, **kwargs):
        super().__init__()
        self.config = config
        self.blocks = nn.ModuleList([Block(dim, config) for _ in range(depth)])
        self.input_tensor = None

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.input_tensor
        for block in self.blocks:
            x = block(x)
        return x
