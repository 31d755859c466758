"""The wrapper of all attention styles."""

from importlib import import_module

from torch import nn

_ATTENTION_REGISTRY = {
    "ZephyrDistributedAttention": ("onescience.modules.attention.zephyrdistributedattention", "ZephyrDistributedAttention"),
}


class OneAttention(nn.Module):
    """Builds the attention that `style` names."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _ATTENTION_REGISTRY:
            raise NotImplementedError(f"unknown attention style {style!r}; known: {sorted(_ATTENTION_REGISTRY)}")
        module, name = _ATTENTION_REGISTRY[style]
        self.attention = getattr(import_module(module), name)(**kwargs)

    def forward(self, *args, **kwargs):
        return self.attention(*args, **kwargs)
