"""Whether a new run would see what an earlier one saw; the notes of a run as JSON and back."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..files import disk
from ..files.disk import NO_STAMP, Reads, Seen
from ..files.prefilter import is_in, is_relevant
from ..files.source import Unusable, checked, decode, read_bytes

_SETTLED = 2 * 10**9
"""Nanoseconds after which a change would show in the time of a file, on any file system."""


class Instead:
    """Files as another state of the tree has them, by the path on disk; None for one that it does not have.

    One and the same file can be on disk by several names. What has another name than the given one, and may be meant
    by it, is like nothing that was noted: `ALIAS`.
    """

    ALIAS = "another name"

    def __init__(self, texts: Mapping[str, bytes | None]) -> None:
        self.texts = texts
        self._folders: dict[str, dict[str, str]] = {}
        for path, text in texts.items():
            folder, name = os.path.split(path)
            self._folders.setdefault(folder, {})[name] = "" if text is None else "f"
        self._numbers = {_number(path) for path in (*texts, *self._folders)} - {None}

    @property
    def is_possible(self) -> bool:
        """Whether the state has the same folders, and only plain files of a usual size differ."""
        are_plain = not any(
            os.path.islink(path) or len(text or b"") > disk.MAX_BYTES for path, text in self.texts.items()
        )
        return are_plain and all(
            os.path.isdir(folder) and any(others.get(name, "f") for name in os.listdir(folder))
            for folder, others in self._folders.items()
        )

    def kind(self, path: str) -> str:
        """The kind of a path."""
        if path in self.texts:
            return "" if self.texts[path] is None else "f"
        return disk.kind_now(path)

    def listing(self, folder: str) -> str:
        """The name of what a folder holds."""
        if self._is_alias(folder):
            return self.ALIAS
        return disk.listing(folder, self._folders.get(folder, {}))

    def content(self, path: str) -> str:
        """The name of a file's content."""
        if path not in self.texts:
            return self.ALIAS if self._is_alias(path) else disk.content(path)
        text = self.texts[path]
        return f"errno {errno.ENOENT}" if text is None else disk.digest(text)

    def data(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            Unusable: it cannot be read.
        """
        text = self.texts.get(path)
        return read_bytes(path) if text is None else checked(text)

    def stamp(self, path: str) -> disk.Stamp:
        """What tells an unchanged file without reading it; `NO_STAMP` where nothing does."""
        if path in self.texts or self._is_alias(path):
            return NO_STAMP
        return disk.stamp_now(path)

    def _is_alias(self, path: str) -> bool:
        if not self.texts or path in self.texts or path in self._folders:
            return False
        return _number(path) in self._numbers


def _number(path: str) -> tuple[int, int] | None:
    """What is the same for all names of a file or folder; None where there is none."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


class Sight:
    """Compares the notes of an earlier run with what is there now. `words` are those of the settings for the sieve.

    `instead` gives files of another state of the tree: then the notes are compared with that.
    `is_renewed` says that files have other times and the same content, so that the notes are worth writing anew.
    """

    def __init__(self, reads: Reads, words: Sequence[bytes], instead: Instead | None = None) -> None:
        self.reads, self.words = reads, words
        self.is_renewed = False
        self._now = instead or Instead({})
        self._questions = [(mark, re.compile(pattern)) for mark, pattern in reads.questions]

    def is_same(self) -> bool:
        """Whether nothing that the earlier run saw is different now."""
        reads = self.reads
        return (
            all(self._now.kind(path) == kind for path, kind in reads.kinds.items())
            and all(os.path.realpath(path) == target for path, target in reads.links.items())
            and all(self._now.listing(folder) == listing for folder, listing in reads.folders.items())
            and all(self._is_same(path, seen) for path, seen in reads.files.items())
        )

    def _is_same(self, path: str, seen: Seen) -> bool:
        now = self._now.stamp(path)
        if now == seen.stamp and now != NO_STAMP:
            return True
        found = self._now.content(path)
        if found != seen.digest and (seen.is_whole or self._is_held_back(path)):
            return False
        self.is_renewed |= now != seen.stamp
        seen.stamp, seen.digest = now, found
        return True

    def _is_held_back(self, path: str) -> bool:
        """Whether a file that the sieve threw out would not be thrown out now, or answers a question otherwise."""
        try:
            data = self._now.data(path)
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
        "found": [[*asked, path] for asked, path in sorted(reads.found.items())],
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
    found = {(str(mark), str(pattern)): str(path) for mark, pattern, path in note["found"]}
    return Reads(files, dict(note["folders"]), dict(note["kinds"]), dict(note["links"]), questions, found)


def matches(said: Mapping[str, Mapping[tuple[str, int], bool]]) -> dict[str, Any]:
    """Which patterns have a match in which files, as JSON: a sign for each pattern."""
    patterns = sorted({pattern for answers in said.values() for pattern in answers})
    signs = {None: "-", True: "1", False: "0"}
    rows = {
        path: "".join(signs[answers.get(pattern)] for pattern in patterns) for path, answers in said.items()
    }
    return {"patterns": patterns, "rows": rows}


def matches_of(note: Any) -> dict[str, dict[tuple[str, int], bool]]:
    """The same from JSON.

    Raises:
        KeyError, TypeError, ValueError: it is nothing that `matches` makes.
    """
    patterns = [(str(pattern), int(flags)) for pattern, flags in note["patterns"]]
    return {
        str(path): {
            pattern: sign == "1" for pattern, sign in zip(patterns, row, strict=True) if sign in ("0", "1")
        }
        for path, row in note["rows"].items()
    }
