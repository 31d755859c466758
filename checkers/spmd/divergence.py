"""Collectives that only some ranks of their group enter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..project.project import Project
from .collectives import Entered
from .frames import Frame, functions, module_functions
from .names import COORDINATOR, TORCH_ROOT, Axes
from .reach import Path, Reaches, Reading, read
from .traces import Item, Trace, calls_in, entered, shape

_ASKS = re.compile(
    r"rank|is_pipeline_|pre_process|post_process|is_pp_|RANK|is_main\b|is_main_process|is_master|is_root|is_chief|is_primary|is_leader|is_(first|last)_stage"
)


@dataclass(frozen=True, eq=False)
class Divergence:
    """`kind` is branch, branches or return; `test` is where the ranks part, `item` what only some of them enter."""

    kind: str
    frame: Frame
    test: ast.If | ast.IfExp
    item: Item
    group: Axes
    leaves: ast.stmt | None = None


class Partners:
    """Where sender and receivers have a function each: whether another one enters the same rooted collective."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._found: dict[ModuleFacts, list[tuple[str, Axes | None, ast.FunctionDef | None]]] = {}

    def elsewhere(self, found: Divergence) -> bool:
        if found.kind == "branches" or found.item.text not in TORCH_ROOT | dict.fromkeys(COORDINATOR):
            return False
        if found.item.text in ("all_reduce", "all_gather", "reduce_scatter", "barrier", "all_gather_object"):
            return False
        own = {found.frame.scope.function}
        frames = [found.frame]
        if found.item.where is not None:
            own.add(found.item.where.scope.function)
            frames.append(found.item.where)
        return any(
            name == found.item.text and axes in (None, found.group) and function not in own
            for frame in frames
            for name, axes, function in self._in(frame.module)
        )

    def _in(self, module: ModuleFacts) -> list[tuple[str, Axes | None, ast.FunctionDef | None]]:
        if module not in self._found:
            self._found[module] = [
                (entry.name, entry.axes, frame.scope.function)
                for frame in module_functions(self.project, module)
                for entry in self.project.knowledge(Entered).of(frame)
            ]
        return self._found[module]


class Divergences:
    """All of the files asked about, found once."""

    def __init__(self, project: Project) -> None:
        self.found: list[Divergence] = []
        partners = project.knowledge(Partners)
        for frame in functions(project, _ASKS):
            node = frame.scope.function
            if (
                node is not None
                and project.is_asked(frame.module)
                and _ASKS.search(frame.module.text_of(node))
            ):
                reading = read(frame) if project.knowledge(Reaches).any(frame) else None
                if reading is not None:
                    self.found += [item for item in _judge(reading) if not partners.elsewhere(item)]

    def of(self, kind: str) -> Iterator[Divergence]:
        return (divergence for divergence in self.found if divergence.kind == kind)


def _judge(reading: Reading) -> Iterator[Divergence]:
    """One finding for each group: where the first difference between two of its ranks lies."""
    said: set[int] = set()
    for group in sorted(reading.groups(), key=sorted):
        for one, two in reading.differences(group):
            found = _placed(reading, group, one, two)
            if found is not None:
                if id(found.item.node) not in said:  # a call that enters collectives of several groups
                    yield found
                said.add(id(found.item.node))
                break


def _placed(reading: Reading, group: Axes, one: Path, two: Path) -> Divergence | None:
    first, second = entered(one.items, group), entered(two.items, group)
    more, fewer, less = (first, second, two) if len(first) >= len(second) else (second, first, one)
    full = one if less is two else two
    taken = {id(item.node) for item in fewer}
    extra = next((item for item in more if id(item.node) not in taken), None)
    if extra is None or _hidden(full, less, extra):
        return None
    for test, _ in sorted(reading.tests, key=lambda pair: -pair[0].lineno):
        sides = [_ids(test.body), _ids(test.orelse)]
        side = next((number for number in (0, 1) if id(extra.node) in sides[number]), None)
        if side is None:
            continue
        others = [item for item in fewer if id(item.node) in sides[1 - side]]
        if not others:
            return Divergence("branch", reading.frame, test, extra, group)
        plain = not any(isinstance(part, tuple) for path in (one, two) for part in shape(path.items, group))
        return Divergence("branches", reading.frame, test, extra, group) if plain else None
    return _after_return(reading, extra, group)


def _after_return(reading: Reading, extra: Item, group: Axes) -> Divergence | None:
    for test, _ in reading.tests:
        if isinstance(test, ast.If) and test.lineno < getattr(extra.node, "lineno", 0):
            for block in (test.body, test.orelse):
                if block and isinstance(block[-1], ast.Return | ast.Continue | ast.Break):
                    return Divergence("return", reading.frame, test, extra, group, block[-1])
    return None


def _hidden(full: Path, less: Path, extra: Item) -> bool:
    """Whether the ranks that seem to enter less run something else that may hold the rest.

    What stands on the other side of a test than `extra` is not run beside it.
    """
    known = calls_in(_beside(full.items, extra))
    return any(name not in known for name in calls_in(less.items))


def _beside(trace: Trace, extra: Item) -> Trace:
    found: list[Item] = []
    for item in trace:
        held = [part for part in item.parts if _holds(part, extra)] if item.kind == "branch" else []
        found += [item] if not held else [inner for part in held for inner in _beside(part, extra)]
    return tuple(found)


def _holds(trace: Trace, extra: Item) -> bool:
    return any(item is extra or any(_holds(part, extra) for part in item.parts) for item in trace)


def _ids(part: list[ast.stmt] | ast.expr) -> set[int]:
    roots: list[ast.AST] = [*part] if isinstance(part, list) else [part]
    return {id(node) for root in roots for node in walk(root)}
