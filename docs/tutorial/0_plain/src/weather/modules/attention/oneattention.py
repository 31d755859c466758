"""Attention modules, chosen by style."""

from torch import nn

from .swirlattention import SwirlAttention

_ATTENTION_REGISTRY = {
    "SwirlAttention": SwirlAttention,
}


class OneAttention(nn.Module):
    """Builds the attention named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style, **kwargs):
        super().__init__()
        self.attention = _ATTENTION_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.attention(*args, **kwargs)
