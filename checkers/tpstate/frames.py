"""A running function, and what one side of an open condition wrote."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from ..facts.module import ClassFacts, ModuleFacts
from .events import Site
from .values import Value


class OutOfFuel(Exception):
    """A class needs more steps than it is worth."""


@dataclass(eq=False)
class Frame:
    """One running function, or a module being read (`function` None)."""

    module: ModuleFacts
    vars: dict[str, Value] = field(default_factory=dict)
    owner: ClassFacts | None = None
    function: ast.AST | None = None
    closure: dict[str, Value] | None = None
    parent: Frame | None = None
    call: Site | None = None
    returns: list[tuple[dict[str, bool], Value, ast.AST]] = field(default_factory=list)
    entry_conditions: frozenset[str] = frozenset()
    serial: int = 0


Marks = list[tuple[dict[Any, Value], Any, Value | None]]


@dataclass
class Journal:
    """What one side of an open condition wrote, with the values before; what was made on that side needs no undoing."""

    entries: dict[tuple[int, Any], tuple[dict[Any, Value], Any, Value | None]] = field(default_factory=dict)
    young: set[int] = field(default_factory=set)
