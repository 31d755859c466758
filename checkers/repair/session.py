"""Which edits are kept: those after which their finding is gone and no other is there.

Edits that touch the same place are made one after the other. Those that fit together are tried together; where the
result is not right, what each problem names is taken out, and tried once more beside the rest. An edit that is refused
twice is left. So this comes to an end after a handful of checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..engine import Progress
from ..files.source import Unusable, decode, parse, read_bytes
from ..finding import Edit, Finding, Skipped
from ..language import tr
from ..settings import Settings
from .looking import Look, key_of, look
from .text import Unfit, edited, overlap
from .writing import why_not_written, write_all


@dataclass(frozen=True)
class Refused:
    """A finding whose edit was not made, and why; `barred` where a file cannot be written, whatever the edit."""

    finding: Finding
    reason: str
    barred: bool = False


@dataclass
class Repair:
    """What came of it, with each changed file before and after; `remaining` is what a check finds afterwards."""

    fixed: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unusable: list[Skipped] = field(default_factory=list)
    before: dict[Path, bytes] = field(default_factory=dict)
    after: dict[Path, bytes] = field(default_factory=dict)
    remaining: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class _Refusal:
    """Why edits are not right together: each problem, and the findings whose edits may be the reason."""

    problems: list[tuple[str, list[Finding]]]

    def reason(self, finding: Finding) -> str:
        """What is wrong with the edits of one finding."""
        return next((why for why, suspects in self.problems if finding in suspects), self.problems[0][0])


def repair(
    paths: Sequence[Path],
    settings: Settings,
    wanted: Callable[[Finding], bool],
    *,
    write: bool,
    progress: Progress | None = None,
) -> Repair:
    """Make the edits of the wanted findings under `paths`; on the disk if `write`, else only in what is returned.

    Files that change while this runs, or cannot be written, are left as they are and the others are judged without
    them: a verdict holds for the text it was reached for.
    """
    barred: dict[Path, str] = {}
    while True:
        found = _Session(paths, settings, wanted, barred, progress).run()
        failed = write_all(found.before, found.after) if write else {}
        if not failed:
            return found
        barred.update(failed)


class _Session:
    """One attempt, in memory. `barred` are files that must stay as they are, and why."""

    def __init__(
        self,
        paths: Sequence[Path],
        settings: Settings,
        wanted: Callable[[Finding], bool],
        barred: Mapping[Path, str],
        progress: Progress | None,
    ) -> None:
        self.paths, self.settings, self.wanted, self.progress = paths, settings, wanted, progress
        self.barred = barred
        self._bytes: dict[Path, bytes] = {}
        self._refused: dict[Finding, Refused] = {}
        self._times: Counter[tuple[str, str, str]] = Counter()

    def run(self) -> Repair:
        done = Repair()
        now = look(self.paths, self.settings, {}, self.progress)
        while True:
            wanted = [finding for finding in now.findings if finding.fix and self.wanted(finding)]
            for finding in wanted:
                if refused := self._barred(finding, now):
                    self._refused[finding] = refused
            batch = _apart(finding for finding in wanted if finding not in self._refused)
            if not batch:
                break
            made, now = self._settle(now, batch)
            done.fixed += made
            if made or len(batch) > 1:  # another edit may have been the reason; twice is enough
                self._refused = {f: r for f, r in self._refused.items() if self._times[_name(f)] > 1}
        done.refused = [self._refused[finding] for finding in wanted]
        done.after = {path: data for path, data in now.edited.items() if data != self._bytes[path]}
        done.before = {path: self._bytes[path] for path in done.after}
        done.remaining, done.unusable = list(now.findings), now.files.unusable
        return done

    def _barred(self, finding: Finding, now: Look) -> Refused | None:
        """Why a file that the edits of a finding change must stay as it is; None where all may be written."""
        for shown in dict.fromkeys(edit.place.path for edit in _edits(finding)):
            source = now.files.source(shown)
            if source is None or source.path not in now.files.targets:
                return Refused(finding, tr("%(path)s is not among the checked paths", path=shown))
            if reason := self.barred.get(source.path) or why_not_written(source.path):
                return Refused(finding, tr("%(path)s %(reason)s", path=shown, reason=reason), barred=True)
            if source.path not in self._bytes:
                try:
                    self._bytes[source.path] = read_bytes(source.path)
                    if decode(self._bytes[source.path]) != source.text:
                        raise Unusable(tr("changed meanwhile"))
                except Unusable as error:
                    return Refused(
                        finding, tr("%(path)s %(reason)s", path=shown, reason=error.args[0]), barred=True
                    )
        return None

    def _settle(self, start: Look, more: list[Finding]) -> tuple[list[Finding], Look]:
        """Of `more`, those whose edits are right on top of a look, and what is found after them.

        A look is a whole check, so what each of its problems names is taken out at once, and tried again in the next
        round beside what is new there.
        """
        left = list(more)
        while left:
            outcome = self._try(start, left)
            if isinstance(outcome, Look):
                return left, outcome
            blamed = {finding for _, suspects in outcome.problems for finding in suspects}
            blamed = blamed or set(left[len(left) // 2 :])
            for finding in blamed:
                self._refused[finding] = Refused(finding, outcome.reason(finding))
                self._times[_name(finding)] += 1
            left = [finding for finding in left if finding not in blamed]
        return [], start

    def _try(self, start: Look, findings: list[Finding]) -> Look | _Refusal:
        """What is found after the edits of some findings, or why they are not right."""
        edits: dict[str, list[Edit]] = {}
        for edit in dict.fromkeys(edit for finding in findings for edit in _edits(finding)):
            edits.setdefault(edit.place.path, []).append(edit)
        changed = dict(start.edited)
        for shown, own in edits.items():
            source = start.files.source(shown)
            assert source is not None
            before = changed.get(source.path, self._bytes[source.path])
            if why := _unfit(source.path, shown, before, own):
                mine = [finding for finding in findings if _touches(finding, shown)]
                alone = [
                    f
                    for f in mine
                    if _unfit(source.path, shown, before, [e for e in _edits(f) if e.place.path == shown])
                ]
                return _Refusal([(why, [finding]) for finding in alone or mine[len(mine) // 2 :]])
            changed[source.path] = edited(before, own)
        after = look(self.paths, self.settings, changed, self.progress)
        return _judge(start, after, findings, edits) or after


def _unfit(path: Path, shown: str, before: bytes, edits: list[Edit]) -> str:
    """Why edits cannot be made in a file, or leave none that can be read; empty where they can."""
    try:
        parse(path, shown, edited(before, edits))
    except (Unfit, Unusable) as error:
        return tr("%(path)s: %(why)s", path=shown, why=error.args[0])
    return ""


def _judge(
    start: Look, after: Look, findings: list[Finding], edits: Mapping[str, list[Edit]]
) -> _Refusal | None:
    """What is wrong after the edits of some findings: one of them is there still, or another one is new."""
    wanted = Counter(key_of(finding, edits.get(finding.place.path, ())) for finding in findings)
    found, expected = after.keys(), start.keys(edits) - wanted
    surplus = sorted(found - expected)
    problems: list[tuple[str, list[Finding]]] = []
    for key in surplus:
        path, symbol, line = key
        if key in wanted:
            suspects = [f for f in findings if key_of(f, edits.get(f.place.path, ())) == key]
            problems.append((tr("the finding would stay"), suspects))
            continue
        near = _nearest([finding for finding in findings if _touches(finding, path)], path, line)
        why = tr("it would bring %(rule)s at %(place)s", rule=symbol, place=f"{path}:{line}")
        problems.append((why, near))
    for path, reason in sorted(after.skipped - start.skipped):
        why = tr("%(path)s could not be checked any more: %(reason)s", path=path, reason=reason)
        problems.append((why, [finding for finding in findings if _touches(finding, path)]))
    return _Refusal(problems) if problems else None


def _nearest(findings: list[Finding], shown: str, line: int) -> list[Finding]:
    """Of the findings that change a file, the one with the edit next to a line; the refused are tried again later."""
    lines = {
        index: min(abs(edit.place.line - line) for edit in _edits(finding) if edit.place.path == shown)
        for index, finding in enumerate(findings)
    }
    return [findings[min(lines, key=lambda index: lines[index])]] if lines else []


def _name(finding: Finding) -> tuple[str, str, str]:
    """How a finding is known again when lines have moved."""
    return finding.place.path, finding.symbol, finding.message


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """The first findings whose edits do not touch; an edit that several ask for is one edit."""
    chosen: list[Finding] = []
    taken: dict[str, list[Edit]] = {}
    for finding in findings:
        own = _edits(finding)
        if not any(
            edit != other and overlap(edit, other) for edit in own for other in taken.get(edit.place.path, ())
        ):
            chosen.append(finding)
            for edit in own:
                taken.setdefault(edit.place.path, []).append(edit)
    return chosen


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def _touches(finding: Finding, shown: str) -> bool:
    return any(edit.place.path == shown for edit in _edits(finding))
