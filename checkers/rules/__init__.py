"""All rules: every subclass of Rule in a module of this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ..rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, ordered by id."""
    found: list[Rule] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found += [
            value()
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, Rule)
            and value is not Rule
            and value.__module__ == module.__name__
        ]
    return tuple(sorted(found, key=lambda rule: rule.code[1:]))
