from torch import nn

from modules.oneblock import OneBlock


class Rain_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.block = OneBlock(style="RainDistributedBlock", dim=dim, config=config)
