"""The wrapper of all fuser styles."""

from importlib import import_module

from torch import nn

_FUSER_REGISTRY = {
    "ZephyrDistributedFuser": ("onescience.modules.fuser.zephyrdistributedfuser", "ZephyrDistributedFuser"),
}


class OneFuser(nn.Module):
    """Builds the fuser that `style` names."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _FUSER_REGISTRY:
            raise NotImplementedError(f"unknown fuser style {style!r}; known: {sorted(_FUSER_REGISTRY)}")
        module, name = _FUSER_REGISTRY[style]
        self.fuser = getattr(import_module(module), name)(**kwargs)

    def forward(self, *args, **kwargs):
        return self.fuser(*args, **kwargs)
