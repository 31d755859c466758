"""What the check of this project says, weighed by the failure: its kind, and the lines that its traceback passes."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..finding import Finding
from ..rule import Symptom
from .callers import called, classes, functions, setters
from .candidate import Hint, reason
from .kinds import Kind
from .sources import Sources, SourceText, Spot

_MADE_ELSEWHERE = (
    "sharded-value-escapes",
    "partial-sum-escapes",
    "forward-returns-none",
    "parallel-linear-width-mismatch",
    "stage-input-not-list-safe",
)
_EXPLAINS, _SAME_SYMPTOM, _ERROR, _WARNING = 64.0, 44.0, 14.0, 7.0
_SEVERAL = 3  # differences from the original, beyond which one of them says little
_MANY = 8  # findings of the same symptom off the traceback, beyond which each says little


@dataclass
class Passed:
    """The lines, functions, classes and files that the tracebacks pass, and the names that the message says."""

    lines: set[tuple[str, int]] = field(default_factory=set)
    functions: set[tuple[str, int]] = field(default_factory=set)
    classes: set[tuple[str, int]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    raised: tuple[str, int] = ("", 0)  # the innermost line of this project

    @classmethod
    def of(cls, spots: Sequence[Spot], message: str) -> Passed:
        made = cls(names=set(re.findall(r"[A-Za-z_]\w{2,}", message)))
        inner = next((spot for spot in reversed(spots) if not spot.passes_on), None)
        if inner is not None:
            made.raised = (os.path.abspath(inner.source.path), inner.line)
        for spot in spots:
            path = os.path.abspath(spot.source.path)
            start, end = spot.source.statement(spot.line)
            if spot.same:
                made.lines.update((path, line) for line in range(start, end + 1))
            made.files.add(path)
            for node in spot.source.enclosing(spot.line):
                kind = made.classes if type(node).__name__ == "ClassDef" else made.functions
                kind.add((path, node.lineno))
        return made


def finding_hints(
    findings: Sequence[Finding], kind: Kind, passed: Passed, symptoms: dict[str, Symptom], sources: Sources
) -> Iterator[Hint]:
    """Each finding as a hint, the weightier the better it explains the failure."""
    many = len([f for f in findings if _base(f, kind, symptoms) >= _SAME_SYMPTOM]) > _MANY
    differences = len([f for f in findings if f.symbol == "differs-from-original"])
    for finding in findings:
        base, explained = _base(finding, kind, symptoms), False
        near, text = _near(finding, passed, sources)
        if base <= 0 or (base <= _WARNING and near < 15):
            continue
        if many and near < 8:
            base *= 0.6
        if finding.symbol == "differs-from-original" and near < 26 and differences > _SEVERAL:
            base -= 12  # true, and seldom the reason for this failure
        elif finding.symbol in kind.symbols:
            explained = True
        weight = base + near
        why = "finding-explains" if explained else "finding"
        path, line = _edited(finding) or (finding.place.path, _raised_in_it(finding, passed, sources))
        yield Hint(path, line, weight, reason(why, symbol=finding.symbol), finding)
        if text:
            yield Hint(path, line, 1.0, reason(text), finding)
        yield from _evidence(finding, weight, passed, sources, kind.name == "index-out-of-range")
        yield from _other_side(finding, weight, sources)


def _other_side(finding: Finding, weight: float, sources: Sources) -> Iterator[Hint]:
    """Where a finding is about two places: the gather that a split input waits for in vain, the test around a read."""
    source = sources.text(finding.place.path)
    if source is None:
        return
    yield from _gathered(finding, weight, sources)
    if finding.symbol == "file-name-lacks-axis":
        yield from _file_name(finding, weight, source, sources)
    if finding.symbol == "full-heads-on-sharded-value":
        yield from _undivided(finding, weight, source)
    if finding.symbol in ("label-missing-on-last-stage", "none-on-some-ranks", "attribute-never-set"):
        for function in source.enclosing(finding.place.line):
            for node in ast.walk(function):
                if isinstance(node, ast.If) and node.lineno < finding.place.line <= (
                    node.body[-1].end_lineno or 0
                ):
                    yield Hint(
                        finding.place.path,
                        node.lineno,
                        weight + 4,
                        reason("evidence", symbol=finding.symbol),
                        finding,
                    )


def _file_name(finding: Finding, weight: float, source: SourceText, sources: Sources) -> Iterator[Hint]:
    """The function of this project that puts the name together which a call was given."""
    start, end = source.statement(finding.place.line)
    names = [called(n) for n in source.nodes if isinstance(n, ast.Call) and start <= n.lineno <= end]
    for name in dict.fromkeys(names):
        for where, maker in functions(name, sources):
            for node in ast.walk(maker):
                if isinstance(node, ast.Return) and any(isinstance(n, ast.JoinedStr) for n in ast.walk(node)):
                    why = reason("evidence", symbol=finding.symbol)
                    yield Hint(where.path, node.lineno, weight + 4, why, finding)


def _gathered(finding: Finding, weight: float, sources: Sources) -> Iterator[Hint]:
    """A layer that gathers, and is followed by one that counts on a share: the gather is the odd one."""
    if finding.symbol not in (
        "input-is-parallel-mismatch",
        "local-heads-on-full-value",
        "sp-input-not-scattered",
    ):
        return
    why = reason("evidence", symbol=finding.symbol)
    for step in finding.evidence if finding.symbol == "sp-input-not-scattered" else ():
        made = sources.text(step.path)
        if (
            made is not None
            and 0 < step.line <= len(made.lines)
            and "gather_from" in made.lines[step.line - 1]
        ):
            yield Hint(step.path, step.line, weight + 14, why, finding)
    for step in finding.evidence if finding.symbol != "sp-input-not-scattered" else ():
        named, made = re.match(r"`(\w+)` gathers", step.text), sources.text(step.path)
        layer = named[1] if named is not None else ""
        for cls in made.enclosing(step.line) if made is not None and layer else ():
            for _, assigned in setters(cls, layer) if isinstance(cls, ast.ClassDef) else ():
                for part in ast.walk(assigned):
                    if isinstance(part, ast.keyword) and part.arg == "gather_output":
                        yield Hint(step.path, part.value.lineno, weight + 14, why, finding)


def _undivided(finding: Finding, weight: float, source: SourceText) -> Iterator[Hint]:
    """Counts of the object that a reshape uses, set without a division."""
    start, end = source.statement(finding.place.line)
    text = "\n".join(source.lines[start - 1 : end])
    owners = [node for node in source.enclosing(finding.place.line) if isinstance(node, ast.ClassDef)]
    for cls in owners:
        for name in dict.fromkeys(re.findall(r"\bself\.(\w+)", text)):
            for _, node in setters(cls, name):
                shown = ast.unparse(node.value) if node.value is not None else ""
                if "//" not in shown and "divide" not in shown and re.search(r"head|group", name + shown):
                    why = reason("evidence", symbol=finding.symbol)
                    yield Hint(source.path, node.lineno, weight + 14, why, finding)


def _edited(finding: Finding) -> tuple[str, int] | None:
    """The line that a fix changes, where it is one: that is the line to show."""
    found = finding.fix.edits if finding.fix is not None else ()
    edits = sorted(edit.place for edit in found if "\n" not in edit.text)  # new lines show no fault
    if not edits or len({place.path for place in edits}) > 1 or edits[-1].line - edits[0].line > 6:
        return None
    return edits[0].path, edits[0].line


def _raised_in_it(finding: Finding, passed: Passed, sources: Sources) -> int:
    """A finding about a whole function or class is shown at the line of it that failed."""
    source = sources.text(finding.place.path)
    path, line = passed.raised
    if source is None or os.path.abspath(finding.place.path) != path:
        return finding.place.line
    heads = [node.lineno for node in source.enclosing(line) if isinstance(node, ast.FunctionDef)]
    return line if finding.place.line in heads else finding.place.line


def _evidence(
    finding: Finding, weight: float, passed: Passed, sources: Sources, index: bool
) -> Iterator[Hint]:
    """The steps of a finding's chain: one of them may be what has to be changed."""
    source = sources.text(finding.place.path)
    around = source.enclosing(finding.place.line) if source is not None else []
    steps = [step for step in finding.evidence[:4] if not step.text.startswith(("the original", "`original"))]
    for number, step in enumerate(steps if _edited(finding) is None else ()):
        raised = (os.path.abspath(step.path), step.line) == passed.raised
        other = os.path.abspath(step.path) != os.path.abspath(finding.place.path)
        less = (
            -4.0
            if raised
            else -24.0
            if number == 0 and other and finding.symbol in _MADE_ELSEWHERE and not index
            else 9.0 + 4 * number
            if (os.path.abspath(step.path), step.line) in passed.lines or number == 0
            else 30.0 + 4 * number
        )
        layers = list(_layer(step.path, step.line, step.text, weight - less + 2, finding, sources))
        yield from layers
        behind = 6 if layers else 0
        why = reason("evidence", symbol=finding.symbol)
        yield Hint(step.path, step.line, weight - less - behind, why, finding)
    named = re.findall(r"`(\w+)\.(\w+)`", finding.message) if finding.symbol == "forward-returns-none" else []
    for cls, method in named:
        if any(node.name == cls for node in around):
            continue
        for where, node in classes(cls, sources):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == method:
                    line = part.body[-1].end_lineno or part.lineno
                    yield Hint(
                        where.path, line, weight + 25, reason("evidence", symbol=finding.symbol), finding
                    )


def _layer(
    path: str, line: int, text: str, weight: float, finding: Finding, sources: Sources
) -> Iterator[Hint]:
    """Where a layer that the evidence names is built."""
    source, named = sources.text(path), re.match(r"`(\w+)` is ", text)
    if source is None or named is None:
        return
    for cls in source.enclosing(line):
        if isinstance(cls, ast.ClassDef):
            for _, node in setters(cls, named[1]):
                yield Hint(path, node.lineno, weight, reason("evidence", symbol=finding.symbol), finding)


def _base(finding: Finding, kind: Kind, symptoms: dict[str, Symptom]) -> float:
    if finding.symbol == "differs-from-original":
        return 52.0 if kind.name == "checkpoint-load" else 36.0
    if finding.symbol in kind.symbols:
        return _EXPLAINS - 0.8 * min(kind.symbols.index(finding.symbol), 20)
    if finding.code[0] not in "EW":
        return 0.0
    symptom = symptoms.get(finding.symbol)
    hang = kind.name in ("timed-out", "peer-lost", "interrupted")
    wanted = Symptom.HANG if hang else Symptom.WRONG_NUMBERS if kind.name == "loss-nan" else Symptom.CRASH
    if symptom is wanted:
        return _SAME_SYMPTOM
    return _ERROR if finding.code[0] == "E" else _WARNING


def _near(finding: Finding, passed: Passed, sources: Sources) -> tuple[float, str]:
    place = finding.place
    path = os.path.abspath(place.path)
    steps = [(os.path.abspath(step.path), step.line) for step in finding.evidence]
    if any((path, line) in passed.lines for line in range(place.line, place.end_line + 1)):
        return 34.0, "on-the-traceback"
    if any(step in passed.lines for step in steps):
        return 26.0, "evidence-on-the-traceback"
    source = sources.text(place.path)
    around = source.enclosing(place.line) if source is not None else []
    keys = [(path, node.lineno) for node in around]
    if any(key in passed.functions for key in keys):
        return 22.0, "in-a-function-of-the-traceback"
    if any(key in passed.classes for key in keys) or any(node.name in passed.names for node in around):
        return 18.0, "in-a-class-of-the-traceback"
    if finding.object and finding.object.split(".")[-1] in passed.names:
        return 14.0, "named-in-the-message"
    if path in passed.files or any(step[0] in passed.files for step in steps):
        return 8.0, "in-a-file-of-the-traceback"
    return 0.0, ""
