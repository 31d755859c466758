from torch import nn

from modules.oneblock import OneBlock


class Rain(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block = OneBlock(style="RainBlock", dim=dim)
