"""What the distributed code does otherwise than the original: statement, original line, distributed line."""

from __future__ import annotations

from ..language import tr
from ..twins.describe import sides
from ..twins.marked import Marked, differences
from ..twins.twins import Twin, twins
from .model import At, DifferenceRow, DifferenceTable, Mark
from .subjects import Subject


def differences_table(subject: Subject) -> DifferenceTable:
    """One row for each difference of the stages and of the modules below them."""
    own = [twin for twin in twins(subject.project) if _belongs(subject, twin)]
    rows = [
        _row(marked) for marked in differences(subject.project) if any(marked.twin is twin for twin in own)
    ]
    compared = tuple(
        tr("%(twin)s with %(original)s", twin=twin.name, original=twin.original.name)
        for twin in own
        if twin.is_aligned
    )
    notes = [
        tr(
            "%(twin)s and %(original)s are not alike enough to be held against each other.",
            twin=twin.name,
            original=twin.original.name,
        )
        for twin in own
        if not twin.is_aligned
    ]
    return DifferenceTable(compared, tuple(rows), tuple(notes))


def _belongs(subject: Subject, twin: Twin) -> bool:
    if twin.family is not None:
        return twin.family is subject.family
    return any(id(cls) in subject.classes for cls in twin.classes)


def _row(marked: Marked) -> DifferenceRow:
    difference = marked.difference
    mine, theirs = sides(difference)
    there, here = difference.theirs, difference.mine
    meant = marked.mark is not None
    return DifferenceRow(
        marked.twin.name,
        theirs,
        At(there.module.display, there.line),
        mine,
        At(here.module.display, here.line),
        Mark.YES if meant else Mark.NO if difference.decided else Mark.OPEN,
        tr("meant: %(reason)s", reason=marked.mark.reason) if marked.mark is not None else difference.what,
    )
