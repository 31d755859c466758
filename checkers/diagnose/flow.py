"""From the line that failed backwards along the traceback: where its value came from.

A value is followed by name: to its last assignment, from a parameter to the argument in the frame that called, from
`self.attr` to where the object is built. Nothing is run, and what cannot be followed ends the walk.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .callers import built, called, crossed, guards, handed, orders, returned
from .candidate import Hint, reason
from .sources import Sources, SourceText, Spot

_FRAMES = (42.0, 27.0, 20.0, 15.0, 11.0)
_MOST_STEPS = 40


@dataclass
class Walk:
    """One walk backwards. `spots` are the frames of this project, innermost first."""

    spots: Sequence[Spot]
    sources: Sources
    kind: str  # of the failure: of a None, the tests around assignments matter; of an import, the line itself
    hints: list[Hint] = field(default_factory=list)
    seen: set[tuple[str, int, str]] = field(default_factory=set)

    @property
    def _none(self) -> bool:
        return self.kind in ("value-is-none", "no-gradient", "unpacking")

    def run(self) -> list[Hint]:
        """All hints of the walk."""
        first = self._first()
        for depth, spot in enumerate(self.spots[first : first + 5]):
            key = "raised-here" if depth == 0 else "called-here"
            weight = (
                125.0 if depth == 0 and self.kind in ("circular-import", "import-missing") else _FRAMES[depth]
            )
            self._hint(spot.source, spot.line, weight, key)
        for spot in self.spots[:first]:
            if not spot.passes_on:
                self._hint(spot.source, spot.line, 19.0, "refused-here" if _refuses(spot) else "raised-here")
        if self.spots:
            self._crossings()
            self._values(first, 1.0)
        return self.hints

    def _first(self) -> int:
        """The innermost frame that is at work: neither one that hands on, nor a check that refuses."""
        for number, spot in enumerate(self.spots):
            if not spot.passes_on and not _refuses(spot):
                return number
        return 0

    def _hint(self, source: SourceText, line: int, weight: float, key: str, **fields: object) -> None:
        self.hints.append(Hint(source.path, line, weight, reason(key, **fields)))

    def _crossings(self) -> None:
        """Calls on the way whose arguments carry each other's names."""
        for number, spot in enumerate(self.spots[1:6], 1):
            callee = _function(self.spots[number - 1])
            if callee is None:
                continue
            for call in _calls_at(spot):
                names = crossed(call, callee)
                if names:
                    self._hint(spot.source, call.lineno, 72.0, "crossed", name=" / ".join(names))

    def _values(self, number: int, strength: float) -> None:
        spot = self.spots[number]
        function = _function(spot)
        names, attributes = read(spot)
        for name in names:
            self._name(name, number, spot.line, function, strength)
        owner = _owner(spot)
        if owner is not None:
            for attribute in attributes:
                for path, line, weight, key, fields in built(owner, attribute, spot.source, self.sources):
                    self.hints.append(Hint(path, line, weight * strength, reason(key, **fields)))

    def _name(
        self, name: str, number: int, line: int, function: ast.FunctionDef | None, strength: float
    ) -> None:
        """Follow one name at a line of the frame `number`."""
        spot = self.spots[number]
        key = (spot.source.path, line, name)
        if key in self.seen or len(self.seen) > _MOST_STEPS or strength < 0.2:
            return
        self.seen.add(key)
        scope = _scope(spot, function, name)
        for made, owner in _assignments(scope, name, line, function):
            self._assigned(name, made, number, owner, strength)
            strength *= 0.8
            if not self._none and not isinstance(made, ast.If):
                break
        else:
            if function is not None and name in _parameters(function):
                self._argument(name, number, function, strength)

    def _assigned(
        self, name: str, made: ast.stmt, number: int, function: ast.FunctionDef | None, strength: float
    ) -> None:
        spot = self.spots[number]
        value = getattr(made, "value", None)
        text = ast.unparse(value) if value is not None else ""
        if "input_tensor" in text:
            self._hint(spot.source, made.lineno, 43.5 * strength, "received-here", name=name)
            for line in orders(made, self.sources):
                self._hint(spot.source, line, 96.0, "other-order")
            return
        self._hint(spot.source, made.lineno, 30.0 * strength, "made-here", name=name)
        if self._none and function is not None:
            for line in guards(function, made):
                ranks = 12.0 if "rank" in spot.source.lines[line - 1] else 0.0
                self._hint(spot.source, line, (46.0 + ranks) * strength, "only-under-this-test", name=name)
        owner = _owner(spot)
        if value is not None and owner is not None:
            for path, line, weight in returned(value, owner, spot.source, self.sources):
                self.hints.append(Hint(path, line, weight * strength, reason("returned-here", name=name)))
        for part in ast.walk(value) if value is not None else ():
            if isinstance(part, ast.Name) and part.id != "self":
                self._name(part.id, number, made.lineno, function, strength * 0.75)

    def _argument(self, name: str, number: int, function: ast.FunctionDef, strength: float) -> None:
        """A parameter: what the next frame outwards gave for it, or who bound it beforehand."""
        outer = number + 1
        while outer < len(self.spots) and self.spots[outer].passes_on:
            outer += 1
        bound = list(handed(function, name, self.spots[number].source))
        for line, argument in bound:
            self._hint(self.spots[number].source, line, 30.0 * strength, "bound-here", name=name)
            for part in ast.walk(argument):
                if isinstance(part, ast.Name):
                    around = self.spots[number].source.enclosing(line)
                    inside = next((n for n in reversed(around) if isinstance(n, ast.FunctionDef)), None)
                    self._name(part.id, number, line, inside, strength)
        if not bound and outer < len(self.spots) and _calls(self.spots[outer], function):
            self._values(outer, strength * 0.9)


def _calls(spot: Spot, function: ast.FunctionDef) -> bool:
    """Whether a frame calls a function itself, and not through a library that got it handed."""
    if function.name in ("forward", "__init__", "__call__"):
        return True
    return any(called(call) == function.name for call in _calls_at(spot))


def walk_back(spots: Sequence[Spot], sources: Sources, kind: str) -> list[Hint]:
    """The hints of one traceback; `spots` outermost first."""
    return Walk(list(reversed(spots)), sources, kind).run()


def read(spot: Spot) -> tuple[list[str], list[str]]:
    """Names and attributes of `self` that the failing expression reads: the part under the carets if there is one."""
    found = _marked(spot) or _statement(spot)
    names: list[str] = []
    attributes: list[str] = []
    called = {id(node.func) for node in ast.walk(found) if isinstance(node, ast.Call)} if found else set()
    for node in ast.walk(found) if found is not None else ():
        if isinstance(node, ast.Name) and node.id != "self" and id(node) not in called:
            names.append(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            attributes.append(node.attr)
    return list(dict.fromkeys(names)), list(dict.fromkeys(attributes))


def _marked(spot: Spot) -> ast.AST | None:
    if not spot.frame.marked or not spot.same:
        return None
    try:
        return ast.parse(spot.frame.marked, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _statement(spot: Spot) -> ast.AST | None:
    start, _ = spot.source.statement(spot.line)
    for node in spot.source.nodes:
        if isinstance(node, ast.stmt) and node.lineno == start:
            if isinstance(node, (ast.If, ast.While)):
                return node.test
            return node if not hasattr(node, "body") else None
    return None


def _refuses(spot: Spot) -> bool:
    return spot.code.startswith(("raise ", "assert "))


def _calls_at(spot: Spot) -> Iterator[ast.Call]:
    start, end = spot.source.statement(spot.line)
    for node in spot.source.nodes:
        if isinstance(node, ast.Call) and start <= node.lineno <= end:
            yield node


def _function(spot: Spot) -> ast.FunctionDef | None:
    around = spot.source.enclosing(spot.line)
    return next((node for node in reversed(around) if isinstance(node, ast.FunctionDef)), None)


def _owner(spot: Spot) -> ast.ClassDef | None:
    around = spot.source.enclosing(spot.line)
    return next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)


def _scope(spot: Spot, function: ast.FunctionDef | None, name: str) -> list[ast.FunctionDef]:
    """The function, and those around it for a name that it only reads."""
    if function is None:
        return []
    around = [n for n in spot.source.enclosing(function.lineno) if isinstance(n, ast.FunctionDef)]
    return [function] if name in _parameters(function) else list(reversed(around)) or [function]


def _parameters(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    return {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self"}


def _assignments(
    scope: Sequence[ast.FunctionDef], name: str, line: int, function: ast.FunctionDef | None
) -> Iterator[tuple[ast.stmt, ast.FunctionDef]]:
    """The statements that set a name, the last before the line first."""
    for owner in scope:
        limit = line if owner is function else 10**9
        found = [
            node
            for node in ast.walk(owner)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))
            and node.lineno < limit
            and _sets(node, name)
        ]
        found.sort(key=lambda node: -node.lineno)
        for node in found[:3]:
            yield node, owner
        if found:
            return


def _sets(node: ast.Assign | ast.AnnAssign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(p, ast.Name) and p.id == name for target in targets for p in ast.walk(target))
