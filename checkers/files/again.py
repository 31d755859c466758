"""Answers about the text of one file that an earlier run has given: the same as long as its bytes are.

All that is asked here is answered by the bytes of a file alone, and by nothing else that a run reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from . import disk


def is_out(path: Path, *, as_target: bool) -> bool:
    """Whether the sieve has thrown out this file, which has the times that it had then; it counts as read.

    A target was decoded then, another file was not.
    """
    reads = disk.watching()
    if reads is None or reads.before is None:
        return False
    before, name = reads.before, str(path)
    seen = before.reads.files.get(name)
    if seen is None or seen.is_whole or name in before.edited or (as_target and name not in before.targets):
        return False
    if seen.stamp == disk.NO_STAMP or disk.stamp_now(path) != seen.stamp:
        return False
    reads.saw(name, seen.stamp, seen.digest)
    disk.thrown_out(name)
    return True


def changed(thrown_out: Sequence[Path]) -> Sequence[Path]:
    """Those of the files that were thrown out in which a text may stand that was in none of them before."""
    reads = disk.watching()
    if reads is None or reads.before is None:
        return thrown_out
    same = reads.before.same & reads.before.targets
    return [path for path in thrown_out if str(path) not in same]


def is_nowhere(asked: tuple[str, str]) -> bool:
    """Whether none of the files that were thrown out had a text."""
    reads = disk.watching()
    return reads is not None and reads.before is not None and asked in reads.before.reads.questions


def place_of(asked: tuple[str, str]) -> Path | None:
    """A file that was thrown out and had a text."""
    reads = disk.watching()
    place = None if reads is None or reads.before is None else reads.before.reads.found.get(asked)
    return None if place is None else Path(place)


def note_place(asked: tuple[str, str], path: Path | None) -> None:
    """A text was looked for in all files that were thrown out, and found in one, or in none."""
    if (reads := disk.watching()) is None:
        return
    if path is None:
        reads.questions.add(asked)
    else:
        reads.found[asked] = str(path)


def said(path: Path, pattern: re.Pattern[str]) -> bool | None:
    """Whether the text of a file has a match; None where that is not known."""
    reads = disk.watching()
    if reads is None or reads.before is None or str(path) not in reads.before.same:
        return None
    answer = reads.before.reads.said.get(str(path), {}).get((pattern.pattern, pattern.flags))
    return None if answer is None else note_said(path, pattern, answer)


def note_said(path: Path, pattern: re.Pattern[str], answer: bool) -> bool:
    """The text of a file has a match, or has none."""
    if (reads := disk.watching()) is not None:
        reads.said.setdefault(str(path), {})[pattern.pattern, pattern.flags] = answer
    return answer
