from torch import nn

from ice.transformer.onetransformer import OneTransformer


class IceDistributedFuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = OneTransformer(style="Identity")
