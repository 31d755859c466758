"""Where a traced method stands: its names, its class, and how nodes are made."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..facts.module import ClassFacts, ModuleFacts
from ..project.project import Project
from .nodes import Keys, Node, Spot


@dataclass(frozen=True)
class OwnLayer:
    """An attribute that holds a module without weights: calling it is one operation."""

    name: str


@dataclass
class Side:
    """One class of a pair while it is traced.

    `attrs` holds what its constructor stores, `tuples` the attributes whose calls return a tensor and a bias, `extra`
    the parameters that only split code has, with their defaults, `entered` counts the calls of own methods.
    """

    project: Project
    keys: Keys
    cls: ClassFacts
    attrs: dict[str, Node] = field(default_factory=dict)
    tuples: set[str] = field(default_factory=set)
    extra: dict[str, ast.expr | None] = field(default_factory=dict)
    input_tensor: Node | None = None
    entered: int = 0
    run: Callable[[Sequence[ast.stmt], Frame], Node | None] = lambda body, frame: None


@dataclass
class Frame:
    """One call that is being traced. `env` holds names, and attributes set meanwhile as `self.name`."""

    side: Side
    module: ModuleFacts
    env: dict[str, Node]
    depth: int = 0
    loops: int = 0
    self_name: str = "self"
    owner: ClassFacts | None = None
    in_constructor: bool = False

    def copy(self) -> Frame:
        """The same place with names of its own."""
        return Frame(
            self.side, self.module, dict(self.env), self.depth, self.loops, self.self_name, self.owner,
            self.in_constructor,
        )  # fmt: skip

    def node(
        self,
        op: str,
        args: Iterable[Node],
        at: ast.AST,
        *,
        names: Iterable[str] = (),
        spots: Iterable[ast.AST] = (),
        value: object = None,
        ref: object = None,
    ) -> Node:
        """A node of this file."""
        found = tuple(args)
        if (
            op != "getitem"
        ):  # what was received alone is a tensor, whether the schedule wraps it in a list or not
            found = tuple(arg.args[0] if arg.op == "received" else arg for arg in found)
        labels = tuple(names) or ("",) * len(found)
        written = tuple(Spot(self.module, spot) for spot in spots) or tuple(arg.spot for arg in found)
        key = self.side.keys.of(op, found, labels, value)
        return Node(op, found, labels, key, Spot(self.module, at), written, value, ref)

    def constant(self, value: object, at: ast.AST) -> Node:
        """A constant."""
        return self.node("const", (), at, value=value)
