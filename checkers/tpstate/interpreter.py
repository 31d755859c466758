"""The abstract machine: frames, undecided conditions, and the undoing of branches.

One interpreter runs both constructors and forwards. A condition that cannot be decided is followed both ways: what
the two sides write is joined into a Choice under the condition's text, so that the same flag tested later picks the
same side again.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..facts.module import ClassFacts, ModuleFacts
from ..project.project import Project
from .choices import Choice, choose
from .events import FAILURES, Event, Log, Site
from .flags import implied, parts_of
from .frames import Frame, Journal, Marks, OutOfFuel
from .states import Step
from .summaries import Reads, Summaries
from .symbols import Poly
from .values import UNKNOWN, Obj, Sym, Value

E = TypeVar("E", bound=Event)

MAX_DEPTH = 60

MAX_SAME_FUNCTION = 3


class Interpreter:
    """Shared state of one analysis; the work is done by the functions of the sibling modules."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.log = Log()
        self.fuel = 0
        self.shares: list[Any] = []
        self.failures: Counter[int] = Counter()
        self.failed = 0
        self.branch: dict[str, bool] = {}
        self.choice: dict[str, bool] = {}
        self.journals: list[Journal] = []
        self.exits: list[Marks] = []
        self.jumped = False
        self.frame: Frame | None = None
        self.depth = 0
        self.catching = 0
        self.root: ClassFacts | None = None
        self.globals: dict[tuple[int, str], Value] = {}
        self.reading: set[tuple[int, str]] = set()
        self.visited: set[int] = set()
        self.generators: dict[int, bool] = {}
        self.equal: dict[str, Poly] = {}
        self.reduced: set[str] = set()
        self.whole: dict[str, Step] = {}
        self.held: dict[int, Obj] = {}
        self.uses: dict[str, set[tuple[int, int]]] = {}
        self.reads: list[Reads] = []
        self.memo = Summaries()
        self.pure = Summaries()
        self.twins = Summaries()
        self.stop_at: Callable[[Obj, ast.FunctionDef], bool] | None = None
        self.needed: Callable[[ClassFacts], bool] | None = None
        self._serial = itertools.count()

    def is_opaque(self, module: ModuleFacts) -> bool:
        """Whether a module belongs to the training framework while something outside of it is analysed.

        The framework's own layers are known by contract; running its insides adds cost and no knowledge.
        """
        is_framework = self.project.is_framework
        return self.root is not None and is_framework(module) and not is_framework(self.root.module)

    # -- bookkeeping -------------------------------------------------------------------------------------------

    def spend(self) -> None:
        self.fuel -= 1
        if self.fuel < 0:
            raise OutOfFuel

    def fresh(self, name: str, *tags: str) -> Sym:
        """An unknown with an identity of its own."""
        return Sym.named(f"{name}#{next(self._serial)}", *tags)

    def note_use(self, tag: str, node: ast.Name) -> None:
        """A variable that holds a gathered tensor is read; `tag` names the variable, behind those it came from."""
        self.uses.setdefault(tag, set()).add((node.lineno, node.col_offset))

    def used_once(self, tag: str) -> bool:
        """Whether each variable on the way of a gathered tensor is read at one place only."""
        names = tag.split("/")
        return all(len(self.uses.get("/".join(names[:end]), ())) <= 1 for end in range(2, len(names) + 1))

    def site(self, node: ast.expr | ast.stmt) -> Site:
        assert self.frame is not None
        return Site(self.frame.module, node, self.frame.function)

    def step(self, node: ast.AST, text: str, *before: Step | None) -> Step:
        """A link of evidence at `node` of the running file."""
        assert self.frame is not None
        line = getattr(node, "lineno", 1)
        return Step(self.frame.module.display, line, text, tuple(step for step in before if step is not None))

    def stack(self) -> tuple[Site, ...]:
        sites: list[Site] = []
        frame = self.frame
        while frame is not None:
            if frame.call is not None:
                sites.append(frame.call)
            frame = frame.parent
        return tuple(reversed(sites))

    def emit(self, kind: Callable[..., E], node: ast.expr | ast.stmt, **fields: Any) -> None:
        """Log an event at `node` of the running frame."""
        assert self.frame is not None
        if self.catching and kind in FAILURES:
            return
        self.log.events.append(
            kind(
                self.site(node),
                self.frame.owner,
                dict(self.branch),
                dict(self.choice),
                self.stack(),
                self.root,
                **fields,
            )
        )

    # -- writes that can be undone -----------------------------------------------------------------------------

    def write(self, target: dict[Any, Value], key: Any, value: Value) -> None:
        """Store, remembering the old value for every open branch."""
        if self.journals:
            journal = self.journals[-1]
            if id(target) not in journal.young:
                mark = (id(target), key)
                if mark not in journal.entries:
                    journal.entries[mark] = (target, key, target.get(key))
        target[key] = value

    def made(self, target: dict[Any, Value]) -> None:
        """`target` is new: nothing outside the open condition knows it."""
        if self.journals:
            self.journals[-1].young.add(id(target))

    def undo(self, journal: Journal) -> dict[tuple[int, Any], Value | None]:
        """Restore what a branch changed; returns the values it had left."""
        left: dict[tuple[int, Any], Value | None] = {}
        for mark, (target, key, old) in journal.entries.items():
            left[mark] = target.get(key)
            if old is None:
                target.pop(key, None)
            else:
                target[key] = old
        return left

    def keep(self, journal: Journal) -> None:
        """What a part of the open branch wrote stands, and is undone with the branch."""
        if self.journals:
            outer = self.journals[-1]
            for mark, entry in journal.entries.items():
                if mark[0] not in outer.young and mark not in outer.entries:
                    outer.entries[mark] = entry
            outer.young |= journal.young

    def both(self, key: str, then: Callable[[], bool], other: Callable[[], bool]) -> bool:
        """Run both sides of an undecided condition and join what they wrote.

        Each side returns whether control goes on after it. Where only one does, its writes stand alone and the
        condition is known from there on. Returns whether control goes on at all.
        """
        while key.startswith("not "):
            key, then, other = key[4:], other, then
        before = dict(self.branch)
        results: list[tuple[bool, Journal]] = []
        kept: list[dict[tuple[int, Any], Value | None]] = []
        jumps: list[bool] = []
        marks: dict[tuple[int, Any], tuple[dict[Any, Value], Any, Value | None]] = {}
        for side, run in ((True, then), (False, other)):
            self.branch = {**before, **implied(key, side)}
            journal = Journal()
            self.journals.append(journal)
            try:
                goes_on = run()
            except OutOfFuel:
                self.undo(journal)
                raise
            finally:
                self.journals.pop()
            results.append((goes_on, journal))
            jumps.append(not goes_on and self.jumped)
            marks.update({mark: entry for mark, entry in journal.entries.items() if mark not in marks})
            kept.append(self.undo(journal))
        self.branch = before
        goes = (results[0][0], results[1][0])
        for mark, (target, name, old) in marks.items():
            values = [side.get(mark, old) for side in kept]
            if goes[0] and goes[1]:
                left, right = values
                if left is None or right is None:
                    value = left if left is not None else right
                else:
                    value = choose(key, left, right)
            else:
                value = values[0] if goes[0] else values[1]
            if value is not None and (goes[0] or goes[1]):
                self.write(target, name, value)
        if goes[0] != goes[1]:
            self.branch.update(implied(key, goes[0]))
        if self.exits:
            for jumps_out, left_values in zip(jumps, kept, strict=True):
                if jumps_out:
                    self.exits[-1] += [
                        (marks[mark][0], marks[mark][1], value) for mark, value in left_values.items()
                    ]
        return any(goes)

    @contextlib.contextmanager
    def looping(self) -> Iterator[None]:
        """A loop: what was written on the way out of its body may stand after it, and so is not known there."""
        branch, marks = self.branch, Marks()
        self.exits.append(marks)
        try:
            yield
        finally:
            self.exits.pop()
        self.branch = branch
        for target, name, value in marks:
            if value is not None and target.get(name) != value:
                self.write(target, name, UNKNOWN)

    # -- alternatives ------------------------------------------------------------------------------------------

    def settle(self, value: Value) -> Value:
        """Follow a Choice as far as the conditions in force decide it."""
        while type(value) is Choice:
            side = self.known_side(value.key)
            if side is None:
                return value
            value = value.then if side else value.other
        return value

    @contextlib.contextmanager
    def picking(self, key: str, side: bool) -> Iterator[None]:
        before = self.choice
        self.choice = {**before, key: side}
        try:
            yield
        finally:
            self.choice = before

    def lift(self, action: Callable[..., Value], *values: Value) -> Value:
        """Apply `action` to every combination of alternatives of `values`."""
        if Choice not in map(type, values):
            return action(*values)
        settled = [self.settle(value) if type(value) is Choice else value for value in values]
        for value in settled:
            if type(value) is Choice:
                before = self.choice
                try:
                    self.choice = {**before, value.key: True}
                    then = self.lift(action, *settled)
                    self.choice = {**before, value.key: False}
                    other = self.lift(action, *settled)
                finally:
                    self.choice = before
                return choose(value.key, then, other)
        return action(*settled)

    def conditions_since(self, frame: Frame) -> dict[str, bool]:
        """The conditions taken on since `frame` was entered."""
        taken = {**self.choice, **self.branch}
        return {key: side for key, side in taken.items() if key not in frame.entry_conditions}

    def known_side(self, key: str) -> bool | None:
        """The side of a condition that is in force, by itself or through its parts; None when it is open."""
        side = self.branch.get(key)
        if side is None:
            side = self.choice.get(key)
        if self.reads and key not in self.reads[-1].seen:
            self.reads[-1].note(key)
        if side is not None or key[:1] not in "n(":
            return side
        if key.startswith("not "):
            inner = self.known_side(key[4:])
            return None if inner is None else not inner
        parts, decisive = parts_of(key)
        if not parts:
            return None
        sides = [self.known_side(part) for part in parts]
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
