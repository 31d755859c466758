"""Attention modules, chosen by style."""

from torch import nn

from .earthattention3d import EarthAttention3D
from .earthdistributedattention3d import EarthDistributedAttention3D
from .xihedistributedfeaturegroupattention import XiheDistributedFeatureGroupAttention
from .xihedistributedfeatureungroupattention import XiheDistributedFeatureUngroupAttention
from .xihefeaturegroupattention import XiheFeatureGroupAttention
from .xihefeatureungroupattention import XiheFeatureUngroupAttention

_ATTENTION_REGISTRY = {
    "EarthAttention3D": EarthAttention3D,
    "EarthDistributedAttention3D": EarthDistributedAttention3D,
    "XiheDistributedFeatureGroupAttention": XiheDistributedFeatureGroupAttention,
    "XiheDistributedFeatureUngroupAttention": XiheDistributedFeatureUngroupAttention,
    "XiheFeatureGroupAttention": XiheFeatureGroupAttention,
    "XiheFeatureUngroupAttention": XiheFeatureUngroupAttention,
}


class OneAttention(nn.Module):
    """Builds the attention named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _ATTENTION_REGISTRY:
            raise ValueError(
                f"unknown attention style {style!r}; choose one of {sorted(_ATTENTION_REGISTRY)}"
            )
        self.attention = _ATTENTION_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.attention(*args, **kwargs)
