"""What the guide's tree takes from the rest of its package: a configuration reader and a loss."""

from types import SimpleNamespace

import yaml
from torch.nn import MSELoss as LpLoss

__all__ = ["LpLoss", "YParams"]


def YParams(path: str, name: str) -> SimpleNamespace:  # noqa: N802  as the tree calls it
    with open(path, encoding="utf-8") as file:
        return _open(yaml.safe_load(file)[name])


def _open(value):
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(**{key: _open(inner) for key, inner in value.items()})
