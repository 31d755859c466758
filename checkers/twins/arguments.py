"""The arguments of two constructor calls side by side, with the defaults of what they build."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from ..project.registries import registries
from .expressions import trace
from .frames import Frame, Side
from .names import INFRASTRUCTURE, TORCH_DEFAULTS, plain
from .nodes import Node, Spot
from .traced import constructor


@dataclass(frozen=True)
class Argument:
    """One argument of both calls; the default of the class where only one gives it."""

    name: str
    theirs: Node | None
    mine: Node | None
    there: Spot | None
    here: Spot | None
    default: Node | None = None


class Arguments:
    """What two calls give to the classes they build. `skipped` names are compared elsewhere."""

    def __init__(self, side: Side, skipped: frozenset[str] = frozenset()) -> None:
        self.side, self.project, self.skipped = side, side.project, skipped
        self._styles = {
            entry.style: entry.target for registry in registries(self.project) for entry in registry.entries
        }

    def is_of_tree(self, node: Node) -> bool:
        """Whether the class that a call names is defined in the tree."""
        return isinstance(node.ref, ClassFacts)

    def pairs(self, a: Node, b: Node) -> Iterator[Argument]:
        """Every argument that either gives."""
        for name in dict.fromkeys((*a.names, *b.names)):
            if name in INFRASTRUCTURE or name in self.skipped or name.startswith("*"):
                continue
            theirs, mine = a.arg(name), b.arg(name)
            if name == "style" and theirs is not None and mine is not None:
                if plain(str(theirs.value)).lower() == plain(str(mine.value)).lower():
                    continue
            silent, given = (a, b) if theirs is None else (b, a)
            default = None
            if theirs is None or mine is None:
                if "**" in silent.names:
                    continue
                known, default = self._default(silent, name, given)
                if not known:
                    continue
            yield Argument(name, theirs, mine, _spot(a, name), _spot(b, name), default)

    def _default(self, silent: Node, name: str, given: Node) -> tuple[bool, Node | None]:
        """Whether the class takes a parameter, and its default."""
        if name in TORCH_DEFAULTS.get(str(silent.value), ()) and not isinstance(silent.ref, ClassFacts):
            usual = ast.Constant(TORCH_DEFAULTS[str(silent.value)][name])
            return True, self._trace(usual, given.spot.module)
        style = silent.arg("style")
        cls = self._styles.get(str(style.value)) if style is not None else silent.ref
        if not isinstance(cls, ClassFacts):
            return False, None
        parameters = constructor(self.project, cls)
        value = parameters.get(name)
        if value is None:
            return False, None
        return True, self._trace(value, cls.module)

    def _trace(self, value: ast.expr, module: ModuleFacts) -> Node:
        return trace(value, Frame(self.side, module, {}))


def is_kept_back(pair: Argument, sides: Sequence[Side]) -> bool:
    """Whether the distributed class takes a parameter itself, and does not hand it on where the original does."""
    given = pair.theirs
    if pair.mine is not None or given is None or given.op != "param" or given.value != pair.name:
        return False
    return any(pair.name in constructor(side.project, side.cls) for side in sides)


def _spot(node: Node, name: str) -> Spot | None:
    return next((spot for own, spot in zip(node.names, node.spots, strict=False) if own == name), None)
