from torch import nn

from ice.attention.oneattention import OneAttention

_FUSER_REGISTRY = {"IceFuser": OneAttention}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)
