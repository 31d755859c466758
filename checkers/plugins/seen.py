"""What a project's own rule is told: plain data, documented in `interface`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..finding import Evidence, Place

if TYPE_CHECKING:
    from ..facts.module import ModuleFacts

State = Literal["whole", "split", "partial", "unknown"]


class Unknown:
    """The kind of `UNKNOWN`."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("UNKNOWN is neither true nor false: compare with `is UNKNOWN`")


UNKNOWN = Unknown()
"""A value that reading the code does not tell."""


@dataclass(frozen=True)
class File:
    """One file that was read. `name` is its dotted module name, `display` the path that findings show; `is_target`
    says whether findings in it are shown."""

    path: Path
    name: str
    display: str
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)
    is_target: bool
    _facts: ModuleFacts = field(repr=False, compare=False)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Where a node of this file stands."""
        from ..tpstate.verdicts import place_of

        return place_of(self._facts, node)


@dataclass(frozen=True)
class Class:
    """A class. `bases` are the dotted names of all its bases, nearest first; `methods` those it defines itself."""

    name: str
    dotted: str
    file: File
    node: ast.ClassDef = field(repr=False)
    bases: tuple[str, ...]
    is_module: bool
    methods: Mapping[str, ast.FunctionDef] = field(repr=False)

    @property
    def place(self) -> Place:
        """Its first line."""
        return self.file.place(self.node)


@dataclass(frozen=True)
class Layer:
    """A parallel layer, where it is built. `kind` is column, row, replicated, embedding or plain.

    `arguments` holds what it is built with by parameter name: numbers, texts, flags, or `UNKNOWN`.
    """

    name: str
    kind: str
    made_of: str
    place: Place
    inside: str
    arguments: Mapping[str, object]


@dataclass(frozen=True)
class Held:
    """What one tensor-parallel rank holds of a value, and the chain of evidence for it."""

    state: State
    because: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class LayerCall:
    """A parallel layer is called. `is_certain` says that this happens whatever the open conditions around it are."""

    layer: Layer
    place: Place
    inside: str
    given: Held
    result: Held
    is_certain: bool


@dataclass(frozen=True)
class Stage:
    """A pipeline stage; `rank` is None where nothing tells it."""

    cls: Class
    rank: int | None


@dataclass(frozen=True)
class Model:
    """A distributed model: its stages by rank, and the plain model that it was made from, where that is known."""

    name: str
    stages: tuple[Stage, ...]
    original: Class | None
