"""Ready to merge or not, and the shortest list of things to do."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding
from ..language import tr
from .model import At, Checklist, Mark, Task
from .subjects import Subject

_SEVERITY = "EWRC"


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
    return (*map(_task, found), *_open_tasks(lists))


def _task(group: list[Finding]) -> Task:
    advice = list(dict.fromkeys(finding.advice or finding.message for finding in group))
    what = (
        advice[0]
        if len(advice) == 1
        else tr("%(advice)s (and %(number)s like it)", advice=advice[0], number=len(advice) - 1)
    )
    places = tuple(dict.fromkeys(At(finding.place.path, finding.place.line) for finding in group))
    return Task(what, group[0].symbol, group[0].code, places)


def _open_tasks(lists: tuple[Checklist, ...]) -> Iterator[Task]:
    reasons: dict[str, list[str]] = {}
    for checklist in lists:
        for line in checklist.lines:
            if line.mark is Mark.OPEN:
                reasons.setdefault(line.note, []).append(line.text)
    for reason, texts in reasons.items():
        more = tr(" (and %(number)s more lines)", number=len(texts) - 1) if len(texts) > 1 else ""
        yield Task(
            tr(
                "Check by hand “%(texts)s”%(more)s: %(reason)s.",
                texts=texts[0],
                more=more,
                reason=reason.rstrip("."),
            ),
            "",
            "",
            (),
        )
