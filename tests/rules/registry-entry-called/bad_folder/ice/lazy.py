from importlib import import_module

from torch import nn


def build(style, registry, **kwargs):
    if style not in registry:
        raise NotImplementedError(f"unknown style {style}")
    module, name = registry[style]
    return getattr(import_module(module), name)(**kwargs)
