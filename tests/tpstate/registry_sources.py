"""Registries and the wrappers that build from them, written in the ways found in the wild."""

LAYERS = """
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class SwinDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = COLUMN(dim, dim)

    def forward(self, x):
        return self.fc(x)


class SwinMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)
"""
MODEL = """
from torch import nn
from weather.{module} import {wrapper}


class SwinDistributedModel(nn.Module):
    def __init__(self, dim, config, kind="Distributed", **kwargs):
        super().__init__()
        style = "SwinDistributed"
        self.plain = {wrapper}({plain}dim=dim)
        self.mlp = {wrapper}({parallel}dim=dim, config=config)

    def forward(self, x):
        x = self.plain(x).relu()
        return self.mlp(x).relu()  # [parallel-linear-tuple-used]
"""
FORWARD = """
    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)
"""


def tree(module: str, source: str, wrapper: str, plain: str, parallel: str) -> dict[str, str]:
    return {
        "weather/__init__.py": "",
        "weather/layers.py": LAYERS,
        f"weather/{module}.py": source,
        "weather/model.py": MODEL.format(module=module, wrapper=wrapper, plain=plain, parallel=parallel),
    }


REGISTRIES = {
    "classes": """
from torch import nn
from .layers import SwinDistributedMlp, SwinMlp

_MLP_REGISTRY = {"Swin": SwinMlp, "SwinDistributed": SwinDistributedMlp}


class OneMlp(nn.Module):
    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _MLP_REGISTRY:
            raise NotImplementedError(f"unknown style {style}")
        self.inner = _MLP_REGISTRY[style](**kwargs)
""",
    "get": """
from torch import nn
from . import layers

_MLP_REGISTRY = dict(Swin=layers.SwinMlp, SwinDistributed=layers.SwinDistributedMlp)


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        cls = _MLP_REGISTRY.get(style)
        if cls is None:
            raise ValueError(style)
        self.inner = cls(**kwargs)
""",
    "lazy_pairs": """
import importlib
from torch import nn

_MLP_REGISTRY = {
    "Swin": ("weather.layers", "SwinMlp"),
    "SwinDistributed": ("weather.layers", "SwinDistributedMlp"),
}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        module_name, class_name = _MLP_REGISTRY[style]
        module = importlib.import_module(module_name)
        self.inner = getattr(module, class_name)(**kwargs)
""",
    "relative_pairs": """
from importlib import import_module
from torch import nn

_MLP_REGISTRY = {"Swin": (".layers", "SwinMlp"), "SwinDistributed": (".layers", "SwinDistributedMlp")}


def _load(style):
    entry = _MLP_REGISTRY[style]
    return getattr(import_module(entry[0], package=__package__), entry[1])


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = _load(style)(**kwargs)
""",
    "dotted_strings": """
import importlib
from torch import nn

_MLP_REGISTRY = {
    "Swin": "weather.layers.SwinMlp",
    "SwinDistributed": "weather.layers.SwinDistributedMlp",
}


def locate(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = locate(_MLP_REGISTRY[style])(**kwargs)
""",
    "colon_strings": """
import importlib
from torch import nn

_MLP_REGISTRY = {"Swin": "weather.layers:SwinMlp", "SwinDistributed": "weather.layers:SwinDistributedMlp"}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        module, name = _MLP_REGISTRY[style].split(":")
        self.inner = getattr(importlib.import_module(module), name)(**kwargs)
""",
    "mixed_with_isinstance": """
import importlib
from torch import nn
from .layers import SwinMlp

_MLP_REGISTRY = {"Swin": SwinMlp, "SwinDistributed": ("weather.layers", "SwinDistributedMlp")}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        entry = _MLP_REGISTRY[style]
        if isinstance(entry, tuple):
            entry = getattr(importlib.import_module(entry[0]), entry[1])
        self.inner = entry(**kwargs)
""",
    "merged_tables": """
from torch import nn
from .layers import SwinDistributedMlp, SwinMlp

_PLAIN = {"Swin": SwinMlp}
_MLP_REGISTRY = {**_PLAIN, "SwinDistributed": SwinDistributedMlp}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = _MLP_REGISTRY[style](**kwargs)
""",
    "class_level_table": """
from torch import nn
from .layers import SwinDistributedMlp, SwinMlp


class OneMlp(nn.Module):
    REGISTRY = {"Swin": SwinMlp, "SwinDistributed": SwinDistributedMlp}

    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = self.REGISTRY[style](**kwargs)
""",
    "base_wrapper": """
from torch import nn
from .layers import SwinDistributedMlp, SwinMlp

_MLP_REGISTRY = {"Swin": SwinMlp, "SwinDistributed": SwinDistributedMlp}


class Wrapper(nn.Module):
    registry = {}

    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = self.registry[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


class OneMlp(Wrapper):
    registry = _MLP_REGISTRY
""",
}
