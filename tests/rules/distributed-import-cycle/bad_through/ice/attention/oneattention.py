from torch import nn

from ice.attention.icedistributedattention import IceDistributedAttention

_ATTENTION_REGISTRY = {"IceDistributedAttention": IceDistributedAttention}


class OneAttention(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.attention = _ATTENTION_REGISTRY[style](**kwargs)
