"""Whether a new run would see what an earlier one saw; the notes of a run as JSON and back."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from typing import Any

from ..files import disk
from ..files.disk import NO_STAMP, Reads, Seen
from ..files.prefilter import is_in, is_relevant
from ..files.source import Unusable, decode, read_bytes

_SETTLED = 2 * 10**9
"""Nanoseconds after which a change would show in the time of a file, on any file system."""


class Sight:
    """Compares the notes of an earlier run with what is there now. `words` are those of the settings for the sieve.

    `is_renewed` says that files have other times and the same content, so that the notes are worth writing anew.
    """

    def __init__(self, reads: Reads, words: Sequence[bytes]) -> None:
        self.reads, self.words = reads, words
        self.is_renewed = False
        self._questions = [(mark, re.compile(pattern)) for mark, pattern in reads.questions]

    def is_same(self) -> bool:
        """Whether nothing that the earlier run saw is different now."""
        reads = self.reads
        return (
            all(disk.kind_now(path) == kind for path, kind in reads.kinds.items())
            and all(os.path.realpath(path) == target for path, target in reads.links.items())
            and all(disk.listing(folder) == listing for folder, listing in reads.folders.items())
            and all(self._is_same(path, seen) for path, seen in reads.files.items())
        )

    def _is_same(self, path: str, seen: Seen) -> bool:
        try:
            now = disk.stamp_of(os.stat(path))
        except OSError:
            now = NO_STAMP
        if now == seen.stamp and now != NO_STAMP:
            return True
        found = disk.content(path)
        if found != seen.digest and (seen.is_whole or self._is_held_back(path)):
            return False
        self.is_renewed |= now != seen.stamp
        seen.stamp, seen.digest = now, found
        return True

    def _is_held_back(self, path: str) -> bool:
        """Whether a file that the sieve threw out would not be thrown out now, or answers a question otherwise."""
        try:
            data = read_bytes(path)
            decode(data)
        except Unusable:
            return True
        return is_relevant(data, self.words) or any(is_in(data, *asked) for asked in self._questions)


def noted(reads: Reads) -> dict[str, Any]:
    """The notes as JSON. A file that has just been changed could change again within the same tick of its clock."""
    settled = time.time_ns() - _SETTLED
    files = [
        [path, *(seen.stamp if max(seen.stamp[1:3]) < settled else NO_STAMP), seen.digest, seen.is_whole]
        for path, seen in reads.files.items()
    ]
    return {
        "files": files,
        "folders": reads.folders,
        "kinds": reads.kinds,
        "links": reads.links,
        "questions": sorted(reads.questions),
    }


def reads_of(note: Any) -> Reads:
    """The notes from JSON.

    Raises:
        KeyError, TypeError, ValueError: it is nothing that `noted` makes.
    """
    files = {
        str(path): Seen((int(size), int(changed), int(entered), int(number)), str(digest), bool(whole))
        for path, size, changed, entered, number, digest, whole in note["files"]
    }
    questions = {(str(mark), str(pattern)) for mark, pattern in note["questions"]}
    return Reads(files, dict(note["folders"]), dict(note["kinds"]), dict(note["links"]), questions)
