"""The wrapper of all mlp styles."""

from importlib import import_module

from torch import nn

_MLP_REGISTRY = {
    "ZephyrDistributedMlp": ("onescience.modules.mlp.zephyrdistributedmlp", "ZephyrDistributedMlp"),
}


class OneMlp(nn.Module):
    """Builds the mlp that `style` names."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _MLP_REGISTRY:
            raise NotImplementedError(f"unknown mlp style {style!r}; known: {sorted(_MLP_REGISTRY)}")
        module, name = _MLP_REGISTRY[style]
        self.mlp = getattr(import_module(module), name)(**kwargs)

    def forward(self, *args, **kwargs):
        return self.mlp(*args, **kwargs)
