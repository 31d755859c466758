"""Members that a module serves on first use, through a module-level `__getattr__` (PEP 562)."""

from __future__ import annotations

import ast

from .module import Import, ModuleFacts


def lazy_member(module: ModuleFacts, name: str) -> Import | None:
    """What `name` stands for in a dict of `name: "module"` or `name: (module, attr)`; None without `__getattr__`."""
    if "__getattr__" not in module.bindings:
        return None
    for bindings in module.bindings.values():
        table = bindings[-1].value
        if not isinstance(table, ast.Dict):
            continue
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                return _target(value)
    return None


def _target(value: ast.expr) -> Import | None:
    parts = [value] if isinstance(value, ast.Constant) else list(getattr(value, "elts", []))
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if not texts:
        return None
    return Import(texts[0], texts[1] if len(texts) > 1 else None, value.lineno)
