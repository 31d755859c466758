from torch import nn

from .rainattention import RainAttention
from .rainblock import RainBlock
from .raindistributedblock import RainDistributedBlock

_BLOCK_REGISTRY = {
    "RainAttention": RainAttention,
    "RainBlock": RainBlock,
    "RainDistributedBlock": RainDistributedBlock,
}


class OneBlock(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.block = _BLOCK_REGISTRY[style](**kwargs)
