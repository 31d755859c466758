"""From the line that failed backwards along the traceback: where its value came from.

A value is followed by name: to its last assignment, from a parameter to the argument in the frame that called, from an
attribute to where the object is built, from a call to what is returned. What cannot be followed ends the walk.
"""

from __future__ import annotations

import ast
import heapq
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .beyond import asks_not, constructions, crossings, into_functions, into_layers, of_module, to_entries
from .callers import built, guards, handed, kept, orders
from .candidate import Hint, reason
from .makers import (
    LOOPED,
    MADE,
    RETURNED,
    SHAPE_KINDS,
    exclusive,
    hands_on,
    layer_inputs,
    makes,
    renames,
    said_otherwise,
    targets_alone,
)
from .reading import (
    Scope,
    assignments,
    calls_at,
    calls_function,
    default_of,
    function_of,
    given_for,
    names_of,
    only_parameters,
    read,
    scope_of,
    statement_of,
)
from .sources import Sources, SourceText, Spot

_FRAMES = (42.0, 27.0, 20.0, 15.0, 11.0)
_FRAMEWORK = 0.35  # what hints in the training framework count: it is used by others, and right
_MOST_STEPS = 300
_WEAKEST = 0.25
_IMPORTS = ("circular-import", "import-missing")


@dataclass
class Walk:
    """One walk backwards. `spots` are the frames of this project, innermost first."""

    spots: Sequence[Spot]
    sources: Sources
    kind: str  # of the failure: of a None, the tests around assignments matter; of an import, the line itself
    framework: Callable[[str], bool]
    message: str = ""
    hints: list[Hint] = field(default_factory=list)
    seen: set[tuple[str, int, str]] = field(default_factory=set)
    start: int = 0
    queue: list[tuple[float, int, tuple[str, Scope, int, float]]] = field(default_factory=list)
    number: Iterator[int] = field(default_factory=itertools.count)
    entered: set[int] = field(default_factory=set)  # functions and entries that the walk has gone into

    @property
    def none(self) -> bool:
        return self.kind in ("value-is-none", "no-gradient", "unpacking")

    def run(self) -> list[Hint]:
        """All hints of the walk."""
        if not self.spots:
            return []
        first = self._first()
        depth = 0
        for number, spot in enumerate(self.spots[first:], first):
            if depth and (spot.passes_on or self.framework(spot.source.path)):
                continue
            if depth < len(_FRAMES):
                self._frame(spot, number == first, _FRAMES[depth])
            depth += 1
        for spot in self.spots[:first]:
            if not spot.passes_on:
                self.hint(spot.source, spot.line, 19.0, "refused-here" if refuses(spot) else "raised-here")
        constructions(self, first)
        crossings(self)
        asks_not(self, first)
        # A check of the framework that refuses knows best where the value came from.
        self.start = first
        start = next((n for n, s in enumerate(self.spots[:first]) if refuses(s) and not s.passes_on), first)
        self._values(start, 1.0)
        while self.queue and len(self.seen) < _MOST_STEPS:
            _, _, step = heapq.heappop(self.queue)
            self._follow(*step)
        return [
            replace(hint, weight=hint.weight * _FRAMEWORK) if self.framework(hint.path) else hint
            for hint in self.hints
        ]

    def _frame(self, spot: Spot, innermost: bool, weight: float) -> None:
        if innermost and self.kind in _IMPORTS:
            weight = 125.0
        if function_of(spot) is None and self.kind not in _IMPORTS:
            weight = 12.0  # the call that started everything
        if not spot.same:
            weight *= 0.4
        elif innermost and re.search(r"Unexpected key\(s\) in state_dict: \"\w+\"[,.]", self.message):
            weight = 90.0  # what is loaded is no state of a model
        elif innermost and self.kind in SHAPE_KINDS and only_parameters(spot):
            weight -= 7.0  # a helper: what it was given is at fault
        self.hint(spot.source, spot.line, weight, "raised-here" if innermost else "called-here")

    def _first(self) -> int:
        """The innermost frame that is at work: no framework, no line that hands on, no check that refuses."""
        for number, spot in enumerate(self.spots):
            if not (spot.passes_on or refuses(spot) or self.framework(spot.source.path)):
                return number
        return 0

    def hint(self, source: SourceText, line: int, weight: float, key: str, **fields: object) -> None:
        self.hints.append(Hint(source.path, line, weight, reason(key, **fields)))

    def _values(self, number: int, strength: float) -> None:
        spot = self.spots[number]
        scope = scope_of(spot, number)
        names, attributes, layers = read(spot, "not callable" in self.message)
        if not spot.same:  # the line is of another version: only the names of layers still say something
            names, attributes = [], re.findall(r"\bself\.(\w+)", spot.frame.code)
        found = statement_of(spot)
        if found is not None and spot.same:
            to_entries(self, found, strength)
            if self.kind in RETURNED:
                into_functions(self, found, scope, strength)
        for name in names:
            self.name(name, scope, spot.line, strength)
        for attribute in attributes if scope.owner is not None else ():
            self._attribute(attribute, scope, strength, attribute in layers)

    def _attribute(self, attribute: str, scope: Scope, strength: float, is_layer: bool) -> None:
        assert scope.owner is not None
        for path, line, weight, key, fields in built(scope.owner, attribute, scope.source, self.sources):
            if is_layer and key == "built-here" and self.kind in ("widths-do-not-fit", "transpose-of-many"):
                weight = 48.0  # a product that does not fit: the layer is declared otherwise than it is used
            elif key == "built-here" and self.kind in SHAPE_KINDS[:-1] and strength == 1.0:
                weight = 41.5  # an operand of the line that failed
            self.hints.append(Hint(path, line, weight * strength, reason(key, **fields)))
        for line in kept(scope.owner, attribute):
            self.hint(scope.source, line, 50.0 * strength, "kept-in-part", name=attribute)

    def name(self, name: str, scope: Scope, line: int, strength: float) -> None:
        """Note one name that is read at a line; the strongest are followed first."""
        if strength >= _WEAKEST:
            step = (name, scope, line, strength)
            heapq.heappush(self.queue, (-strength, next(self.number), step))

    def _follow(self, name: str, scope: Scope, line: int, strength: float) -> None:
        key = (scope.source.path, line, name)
        if key in self.seen:
            return
        self.seen.add(key)
        first: ast.stmt | None = None
        for made, function in assignments(scope, name, line):
            if first is None or self.none or exclusive(first, made, function):
                self._assigned(name, made, replace(scope, function=function), strength)
                strength *= 0.8 if self.none else 1.0
            first = first or made
        if first is not None:
            return
        if scope.function is not None and name in names_of(scope.function):
            self._argument(name, scope, strength)
        else:
            of_module(self, name, scope, strength)

    def _assigned(self, name: str, made: ast.stmt, scope: Scope, strength: float) -> None:
        value = getattr(made, "value", None) or getattr(made, "iter", None)
        text = ast.unparse(value) if value is not None else ""
        if "input_tensor" in text:
            weight = 37.0 if self.kind in ("shapes-do-not-fit", "dtype-mismatch") else 43.5
            self.hint(scope.source, made.lineno, weight * strength, "received-here", name=name)
            for line in orders(made, self.sources):
                self.hint(scope.source, line, 96.0, "other-order")
            if scope.owner is not None:
                for line in kept(scope.owner, "input_tensor"):
                    self.hint(scope.source, line, 50.0 * strength, "kept-in-part", name="input_tensor")
            return
        if isinstance(made, ast.For) and self.kind in LOOPED:
            self.hint(scope.source, made.lineno, 47.0 * strength, "made-here", name=name)
            return
        weight = self._weight_of(value, text, scope, name in targets_alone(made))
        self.hint(scope.source, made.lineno, weight * strength, "made-here", name=name)
        if self.none and scope.function is not None:
            for line in said_otherwise(scope.function):
                self.hint(scope.source, line, 112.0, "said-otherwise")
            for depth, line in enumerate(guards(scope.function, made)):
                ranks = 6.0 if "rank" in scope.source.lines[line - 1] else 0.0
                weight = (51.0 - 4 * depth + ranks) * strength
                self.hint(scope.source, line, weight, "only-under-this-test", name=name)
        if value is None:
            return
        into_layers(self, value, scope, name, strength)
        into_functions(self, value, scope, strength)
        to_entries(self, value, strength)
        through = layer_inputs(value)
        for part in ast.walk(value):
            if isinstance(part, ast.Name) and part.id != "self":
                less = 0.6 if part.id in through and self.kind in SHAPE_KINDS else 0.92
                self.name(part.id, scope, made.lineno, strength * less)

    def _weight_of(self, value: ast.expr | None, text: str, scope: Scope, named: bool) -> float:
        """How likely an assignment is at fault: one that only fetches seldom is."""
        if self.none or "data[" in text or value is None:
            return 45.0 if self.none else 50.0
        if self.kind in SHAPE_KINDS and renames(value) and named:
            return 56.0
        if makes(value, self.kind):
            return 48.0 if self._far(scope) else 40.0
        if self.kind in MADE and hands_on(value):
            return 26.0 if self._far(scope) else 20.0
        return 46.0 if self._far(scope) else 30.0

    def enter(self, node: ast.AST, strength: float) -> bool:
        """Whether the walk goes into a function or an entry: once, and not too far from the failure."""
        if id(node) in self.entered or strength < 0.3:
            return False
        self.entered.add(id(node))
        return True

    def _far(self, scope: Scope) -> bool:
        """Whether a value came through frames to the line that failed: it was made wrongly, not used so."""
        return self.kind in ("shapes-do-not-fit", "widths-do-not-fit") and (scope.number or 0) > self.start

    def given(self, parameter: str, scope: Scope) -> str:
        """The name of the function that a frame further out gave for a parameter."""
        number = scope.number
        while number is not None and number + 1 < len(self.spots):
            number += 1
            for call in calls_at(self.spots[number]):
                values = {keyword.arg: keyword.value for keyword in call.keywords}
                value = values.get(parameter) or next(
                    (arg for arg in call.args if isinstance(arg, ast.Name) and parameter in arg.id), None
                )
                if isinstance(value, ast.Name):
                    parameter = value.id
        return parameter

    def _argument(self, name: str, scope: Scope, strength: float) -> None:
        """A parameter: what the next frame outwards gave for it, or who bound it beforehand."""
        assert scope.function is not None
        bound = list(handed(scope.function, name, scope.source))
        for line, argument in bound:
            self.hint(scope.source, line, 30.0 * strength, "bound-here", name=name)
            around = scope.source.enclosing(line)
            inside = next((n for n in reversed(around) if isinstance(n, ast.FunctionDef)), None)
            for part in ast.walk(argument):
                if isinstance(part, ast.Name):
                    self.name(part.id, replace(scope, function=inside), line, strength)
        if bound or scope.number is None:
            return
        outer = scope.number + 1
        while outer < len(self.spots) and self.spots[outer].passes_on:
            outer += 1
        if outer >= len(self.spots) or not calls_function(self.spots[outer], scope.function):
            return
        spot = self.spots[outer]
        given = list(given_for(spot, scope.function, name))
        if not given:
            default = default_of(scope.function, name)
            if default is not None:
                weight = 52.0 if default == "None" and self.kind not in SHAPE_KINDS[:-1] else 24.0
                self.hint(scope.source, scope.function.lineno, weight * strength, "default-taken", name=name)
            self._values(outer, strength * 0.97)
        for argument in given:
            inner = scope_of(spot, outer)
            if makes(argument, self.kind) or not hands_on(argument):
                self.hint(spot.source, argument.lineno, 34.0 * strength, "handed-over-here", name=name)
            to_entries(self, argument, strength)
            into_layers(self, argument, inner, name, strength * 0.98)
            for part in ast.walk(argument):
                if isinstance(part, ast.Name) and part.id != "self":
                    self.name(part.id, inner, spot.line, strength * 0.98)
                elif isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self" and inner.owner:
                    self._attribute(part.attr, inner, strength * 0.98, False)


def walk_back(
    spots: Sequence[Spot], sources: Sources, kind: str, framework: Callable[[str], bool], message: str
) -> list[Hint]:
    """The hints of one traceback, outermost first."""
    return Walk(list(reversed(spots)), sources, kind, framework, message).run()


def refuses(spot: Spot) -> bool:
    """Whether a line is a check: it names what is wrong, and is not wrong itself."""
    return spot.code.startswith(("raise ", "assert "))
