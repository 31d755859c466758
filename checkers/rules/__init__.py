"""All rules: every subclass of Rule in a module of this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ..rule import Rule

_projects: list[Rule] = []


def use_rules(found: tuple[Rule, ...]) -> None:
    """The rules that a project keeps for itself, in place of those of another."""
    _projects[:] = found


def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, ordered by id, those of the project included."""
    return (*own_rules(), *sorted(_projects, key=lambda rule: rule.code[1:]))


@cache
def own_rules() -> tuple[Rule, ...]:
    """One instance of every rule of ours, ordered by id."""
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
