"""The collectives that a function enters, in order, for each answer to the questions about the own rank it asks."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from ..facts.nodes import as_code, children
from ..project.project import Project
from .axes import last_name
from .collectives import Entered, collective
from .conditions import Atom, Formula, Known, atoms_of, condition, decide
from .frames import Frame
from .names import Axes
from .traces import Item, Trace, axes_in, moved, shape

_MAX_DEPTH, _MAX_ATOMS, _MAX_STEPS = 4, 4, 4000
_MAY_ENTER = re.compile(
    r"run|loop|work|serve|listen|recv|wait|step|forward|train|sync|cast|reduce|gather|barrier|execute|process"
    r"|generate|main|join|handle|respond|save|load|fetch|call|rpc|init|setup|build|eval|start"
)


@dataclass(frozen=True)
class Path:
    """What a block enters, and how it ends: "" where control goes on, else return, raise or leave (of a loop)."""

    items: Trace
    end: str = ""


class Walk:
    """One reading of a function under given answers."""

    def __init__(self, known: Mapping[Atom, bool]) -> None:
        self.known: Known = dict(known.items())
        self.steps = 0
        self.entered: list[ast.AST] = []

    def function(self, frame: Frame) -> Path:
        assert frame.scope.function is not None
        return self.block(frame.scope.function.body, frame)

    def block(self, body: list[ast.stmt], frame: Frame) -> Path:
        items: list[Item] = []
        for index, statement in enumerate(body):
            self.steps += 1
            if type(statement) in _SIMPLE:
                if _entering(statement):
                    items += self._parts(statement, frame)
                continue
            if isinstance(statement, ast.If):
                items += self.expression(statement.test, frame)
                answer = decide(condition(statement.test, frame), self.known)
                if answer is not None:  # a return inside of it leaves what stands behind it
                    taken = statement.body if answer else statement.orelse
                    path = self.block([*taken, *body[index + 1 :]], frame)
                    return Path((*items, *path.items), path.end)
                path = self._test(statement, body[index + 1 :], frame)
                items += path.items
                if path.end:
                    return Path(tuple(items), "" if path.end == "through" else path.end)
                continue
            path = self._statement(statement, frame)
            items += path.items
            if path.end:
                return Path(tuple(items), path.end)
        return Path(tuple(items))

    def _test(self, node: ast.If, rest: list[ast.stmt], frame: Frame) -> Path:
        then, other = self.block(node.body, frame), self.block(node.orelse, frame)
        if then.end == "raise":
            return other
        if other.end == "raise":
            return then
        if bool(then.end) == bool(other.end) or self.steps > _MAX_STEPS:
            return Path(_branch(node, then.items, other.items), then.end and other.end)
        after = self.block(rest, frame)
        first = then.items if then.end else then.items + after.items
        second = other.items if other.end else other.items + after.items
        return Path(_branch(node, first, second), after.end or "through")

    def _statement(self, node: ast.stmt, frame: Frame) -> Path:
        if isinstance(node, ast.Return):
            return Path(self.expression(node.value, frame) if node.value else (), "return")
        if isinstance(node, ast.Raise):
            return Path((), "raise")
        if isinstance(node, ast.Break | ast.Continue):
            return Path((), "leave")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return Path(())
        if isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            body = self.block(node.body, frame)
            inside = (Item("loop", as_code(head), node, None, (body.items,)),) if body.items else ()
            return Path(self.expression(head, frame) + inside, "return" if body.end == "return" else "")
        if isinstance(node, ast.With):
            heads = tuple(item for part in node.items for item in self.expression(part.context_expr, frame))
            body = self.block(node.body, frame)
            return Path(heads + body.items, body.end)
        if isinstance(node, ast.Try):
            body = self.block(node.body, frame)
            more = self.block([*node.orelse, *node.finalbody] if not body.end else node.finalbody, frame)
            return Path(body.items + more.items, body.end or more.end)
        return Path(self._parts(node, frame))

    def expression(self, node: ast.AST, frame: Frame) -> Trace:
        if isinstance(node, ast.Call):
            return self._parts(node, frame) + self._call(node, frame)
        if isinstance(node, ast.Lambda):
            return ()
        if isinstance(node, ast.IfExp):
            answer = decide(condition(node.test, frame), self.known)
            if answer is not None:
                return self.expression(node.body if answer else node.orelse, frame)
            return _branch(node, self.expression(node.body, frame), self.expression(node.orelse, frame))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            found = self._parts(node, frame)
            return (Item("loop", "", node, None, (found,)),) if found else ()
        return self._parts(node, frame)

    def _parts(self, node: ast.AST, frame: Frame) -> Trace:
        items: list[Item] = []
        for part in _entering(node):
            items += self.expression(part, frame)
        return tuple(items)

    def _call(self, node: ast.Call, frame: Frame) -> Trace:
        self.steps += 1
        found = collective(node, frame)
        if found is not None:
            return (Item("collective", found.name, node, found.axes, (), found, frame),)
        inner = frame.callee(node) if len(self.entered) < _MAX_DEPTH else None
        if inner is not None and inner.scope.function is not None:
            if inner.scope.function in self.entered or self.steps > _MAX_STEPS:
                return ()
            if not frame.project.knowledge(Reaches).any(inner):
                return ()
            self.entered.append(inner.scope.function)
            items = self.function(inner).items
            self.entered.pop()
            return tuple(moved(item, node) for item in items)
        name = last_name(node.func)
        return (Item("call", name, node),) if _may_enter(name) and not frame.external(node.func) else ()


@cache
def _may_enter(name: str) -> bool:
    """Whether a function of this name may enter a collective, as far as a name tells."""
    return _MAY_ENTER.search(name.lower()) is not None


class Reaches:
    """Which functions may enter a collective, or call something unknown that might, by themselves or through calls."""

    def __init__(self, project: Project) -> None:
        self._found: dict[int, bool] = {}

    def any(self, frame: Frame) -> bool:
        function = frame.scope.function
        if function is None:
            return False
        if id(function) not in self._found:
            self._follow(frame)
        return self._found[id(function)]

    def _follow(self, start: Frame) -> None:
        """Look into what a function calls, however far: the answer must not depend on who asks first."""
        frames = {id(start.scope.function): start}
        waiting = [start]
        for frame in waiting:  # grows as it is read
            known = self._found.get(id(frame.scope.function))
            if known or (known is None and frame.project.knowledge(Entered).of(frame)):
                self._found[id(start.scope.function)] = True
                return
            for node in frame.scope.calls if known is None else ():
                inner = frame.callee(node)
                if inner is not None and id(inner.scope.function) not in frames:
                    frames[id(inner.scope.function)] = inner
                    waiting.append(inner)
        self._found |= dict.fromkeys(frames, False)


def _entering(node: ast.AST) -> list[ast.AST]:
    """What in an expression or a simple statement may enter something: the outermost such nodes, in source order."""
    found: list[ast.AST] | None = node.__dict__.get("_entering")
    if found is None:
        found = []
        for part in children(node):
            if type(part) in _ENTER:
                found.append(part)
            elif type(part) is not ast.Lambda:
                found += _entering(part)
        node._entering = found  # type: ignore[attr-defined]
    return found


_SIMPLE = frozenset(
    (
        ast.Assign,
        ast.Expr,
        ast.AugAssign,
        ast.AnnAssign,
        ast.Assert,
        ast.Delete,
        ast.Pass,
        ast.Import,
        ast.ImportFrom,
    )
)
_ENTER = frozenset((ast.Call, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))


def _branch(node: ast.AST, then: Trace, other: Trace) -> Trace:
    if not then and not other:
        return ()
    return (Item("branch", as_code(node.test), node, None, (then, other)),)  # type: ignore[attr-defined]


# -- questions ----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Reading:
    """All traces of a function, by what the own rank answers."""

    frame: Frame
    tests: list[tuple[ast.If | ast.IfExp, Formula]]
    traces: list[tuple[dict[Atom, bool], Path]] = field(default_factory=list)

    def groups(self) -> set[Axes]:
        return {axes for _, path in self.traces for axes in axes_in(path.items)}

    def differences(self, group: Axes) -> Iterator[tuple[Path, Path]]:
        """Pairs of traces that two ranks of one group take, and that enter other collectives of the group."""
        for (first, one), (second, two) in itertools.combinations(self.traces, 2):
            if "raise" in (one.end, two.end):
                continue
            changed = [atom for atom in first if first[atom] != second[atom]]
            if all(atom.axes & group for atom in changed) and shape(one.items, group) != shape(
                two.items, group
            ):
                yield one, two


def read(frame: Frame) -> Reading | None:
    """The traces of a function that tests the own rank; None where it does not, or tests too much."""
    tests: list[tuple[ast.If | ast.IfExp, Formula]] = []
    for node in frame.scope.of(ast.If, ast.IfExp):
        formula = condition(node.test, frame)
        if atoms_of(formula):
            tests.append((node, formula))
    atoms = sorted({atom for _, formula in tests for atom in atoms_of(formula)}, key=str)
    if not atoms or len(atoms) > _MAX_ATOMS:
        return None
    reading = Reading(frame, tests)
    for answers in itertools.product((True, False), repeat=len(atoms)):
        known = dict(zip(atoms, answers, strict=True))
        if _possible(known):
            reading.traces.append((known, Walk(known).function(frame)))
    return reading


def read_tests(frame: Frame) -> list[ast.If | ast.IfExp]:
    """The tests of a function that ask for the own rank and nothing else."""
    return [
        node for node in frame.scope.of(ast.If, ast.IfExp) if isinstance(condition(node.test, frame), Atom)
    ]


def _possible(known: dict[Atom, bool]) -> bool:
    """Whether one rank can give these answers: it has one number, and the first of all is first everywhere."""
    held = [atom for atom in known if known[atom]]
    if len({atom.subject for atom in held}) < len(held):
        return False
    is_first = any(atom.subject == "world" and atom.value == "0" for atom in held)
    return not is_first or all(known[a] or not (a.value == "0" and a.subject.isalpha()) for a in known)
