from attention import EarthAttentionDistributed, EarthAttentionPlain
from torch import nn

_ATTENTION_REGISTRY = {"EarthDistributed": EarthAttentionDistributed, "Earth": EarthAttentionPlain}


class OneAttention(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.attention = _ATTENTION_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.attention(*args, **kwargs)
