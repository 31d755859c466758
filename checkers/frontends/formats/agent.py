"""Short, plain text for a coding agent: what to change, how that is known, where it stands right, what to call next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...files.discovery import FileSet
from ...finding import Finding, Result
from ...language import local, tr
from ..references import line_of
from ..streams import visible
from ..text_report import repaired, verdict
from .terms import NAME, rule_of

_MAX_TYPED = 6
"""Lines of a fix that are printed; `fix --diff` shows all."""


def lines(result: Result, files: FileSet, *, strict: bool, paths: Sequence[str]) -> Iterator[str]:
    """The words before the colons are the same in every language and version."""
    yield f"{NAME}: {visible(local(verdict(result)))}"
    shown = result.findings + (result.undecided if strict else [])
    if any(line_of(finding.symbol) for finding in shown):
        yield f"references: {visible(str(_package()))}"
    told: set[str] = set()
    for number, finding in enumerate(shown, 1):
        yield from ("", *_one(number, finding, files, is_first=finding.symbol not in told))
        told.add(finding.symbol)
    skipped = result.skipped
    if skipped:
        yield from ("", *(f"unread: {visible(f'{skip.path}: {local(skip.reason)}')}" for skip in skipped))
    yield from ("", f"next: {visible(local(_next(result, shown, paths)))}")


def _one(number: int, finding: Finding, files: FileSet, *, is_first: bool) -> Iterator[str]:
    place = finding.place
    inside = f" {finding.object}" if finding.object else ""
    is_open = "" if finding.decided else f" ({local(tr('could not be decided'))})"
    yield f"[{number}] {finding.code} {finding.symbol}{is_open}"
    yield visible(f"at: {place.path}:{place.line}:{place.column + 1}{inside}")
    yield f"wrong: {visible(_line(finding.message))}"
    rule = rule_of(finding)
    if is_first and rule is not None and rule.runtime.strip():
        yield f"run: {visible(_line(tr(rule.symptom.value)))}. {visible(_line(rule.runtime))}"
    yield from (visible(f"because: {step.path}:{step.line}: {_line(step.text)}") for step in finding.evidence)
    if finding.advice:
        yield f"do: {visible(_line(finding.advice))}"
    yield from _typed(finding, files)
    if not is_first:
        return
    found = line_of(finding.symbol)
    yield f"see: {found[0]}:{found[1]}" if found else f"see: `{NAME} explain {finding.symbol}`"


def _typed(finding: Finding, files: FileSet) -> Iterator[str]:
    source = files.source(finding.place.path) if finding.fix is not None else None
    if finding.fix is None or source is None:
        return
    typed = repaired(finding.fix.edits, source)
    here = len({edit.place.path for edit in finding.fix.edits}) == 1
    if here and 0 < len(typed) <= _MAX_TYPED:
        yield f"fix: {finding.fix.applicability}"
        yield from (visible(f"  {number} + {text}") for number, text in typed)
    else:
        yield f"fix: {finding.fix.applicability} (`{NAME} fix --diff`)"


def _next(result: Result, shown: Sequence[Finding], paths: Sequence[str]) -> str:
    """One command, or what to do before this one is called again."""
    given = shlex.join(paths)
    if any(skip.is_fault for skip in result.skipped):
        return tr("mend what could not be read, then this command again")
    if any(finding.fix is not None and finding.fix.applicability == "safe" for finding in shown):
        said = "`%(name)s fix %(paths)s` (makes the safe edits), then this command again"
        return tr(said, name=NAME, paths=given)
    if shown:
        return tr("mend [1] first, then this command again")
    said = "`%(name)s verify TRAIN.PY --tp 2 --pp 4 --numbers`, then `%(name)s report %(paths)s`"
    return tr(said, name=NAME, paths=given)


def _package() -> Path:
    """The folder that the references stand in."""
    return Path(__file__).resolve().parents[3]


def _line(text: str) -> str:
    return " ".join(local(text).split())
