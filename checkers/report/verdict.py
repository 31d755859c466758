"""Ready to merge or not, and the shortest list of things to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..finding import Finding
from ..language import Translatable, tr
from .model import At, Checklist, Frame, Known, Mark, Task
from .subjects import Subject

_SEVERITY = "EWRC"
BY_HAND = "Check by hand “%(texts)s”%(more)s: %(reason)s."
_FRAMES = 3
"""How many findings of one rule are shown in their code."""


def is_ready(subject: Subject, lists: tuple[Checklist, ...]) -> bool | None:
    """False where a line is wrong, or an error or warning was found; None where a line could not be decided."""
    marks = [line.mark for checklist in lists for line in checklist.lines]
    if Mark.NO in marks or any(finding.code[0] in "EW" for finding in subject.findings):
        return False
    return None if Mark.OPEN in marks else True


def tasks(subject: Subject, lists: tuple[Checklist, ...]) -> tuple[Task, ...]:
    """One task for each rule that was broken, errors first; then one for each reason why a line stayed open."""
    groups: dict[str, list[Finding]] = {}
    for finding in subject.findings:
        groups.setdefault(finding.symbol, []).append(finding)
    found = sorted(groups.values(), key=lambda group: (_SEVERITY.find(group[0].code[0]), group[0].code))
    lines = {module.display: module.lines for module in subject.project.modules}
    return (*(_task(group, lines) for group in found), *_open_tasks(lists))


def _task(group: list[Finding], lines: Mapping[str, Sequence[str]]) -> Task:
    advice = list(dict.fromkeys(finding.advice or finding.message for finding in group))
    what = (
        advice[0]
        if len(advice) == 1
        else tr("%(advice)s (and %(number)s like it)", advice=advice[0], number=len(advice) - 1)
    )
    places = tuple(dict.fromkeys(At(finding.place.path, finding.place.line) for finding in group))
    shown = list({(f.place.path, f.place.line): f for f in reversed(group)}.values())[::-1][:_FRAMES]
    frames = tuple(_frame(finding, lines.get(finding.place.path, ())) for finding in shown)
    return Task(what, group[0].symbol, group[0].code, places, frames)


def _frame(finding: Finding, lines: Sequence[str]) -> Frame:
    place = finding.place
    first, last = max(1, place.line - 1), min(len(lines), place.line + 1)
    text = "".join(lines[place.line - 1 : place.line])
    end = place.end_column if place.end_line == place.line else len(text)
    return Frame(
        At(place.path, place.line),
        finding.message,
        first,
        tuple(map(_untabbed, lines[first - 1 : last])),
        len(_untabbed(text[: place.column])),
        len(_untabbed(text[:end])),
        tuple(Known(At(step.path, step.line), step.text) for step in finding.evidence),
    )


def _untabbed(text: str) -> str:
    return text.replace("\t", "    ")


def _open_tasks(lists: tuple[Checklist, ...]) -> Iterator[Task]:
    reasons: dict[str, list[str]] = {}
    for checklist in lists:
        for line in checklist.lines:
            if line.mark is Mark.OPEN:
                reasons.setdefault(line.note, []).append(line.text)
    for reason, texts in reasons.items():
        more: str = ""
        if len(texts) == 2:
            more = tr(" (and one more line)")
        elif len(texts) > 2:
            more = tr(" (and %(number)s more lines)", number=len(texts) - 1)
        fields = {"texts": texts[0], "more": more, "reason": reason}
        english = f"Check by hand “{texts[0]}”{more}: {reason.rstrip('.')}."
        yield Task(Translatable(english, BY_HAND, fields), "", "", ())
