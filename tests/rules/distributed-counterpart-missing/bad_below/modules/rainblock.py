from torch import nn


class RainBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        from .oneblock import OneBlock

        self.attention = OneBlock(style="RainAttention", dim=dim)
