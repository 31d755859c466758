"""What a run has read of the file system, in a form that tells later whether a new run would see the same."""

from __future__ import annotations

from dataclasses import dataclass, field

Stamp = tuple[int, int, int, int]
"""Size, times of the last change of content and of entry, and number of a file: alike where nothing has changed."""

NO_STAMP: Stamp = (-1, 0, 0, 0)


@dataclass
class Seen:
    """One file as it was read; `is_whole` is False where only a sieve has looked at it, and nothing was found.

    `was_whole` says so of what had been read of it before the last time.
    """

    stamp: Stamp
    digest: str
    is_whole: bool = True
    was_whole: bool = False


@dataclass
class Reads:
    """What was seen: the bytes of files, what folders hold, what paths are, and where links lead.

    `is_steady` is False where a file was not the same each time that it was read: then no later run can tell.
    `questions` are what was asked of files that the sieve had thrown out, and found in none of them; `found` has those
    that were, each with a file that has the text. `said` holds for files whether their text has a match of a pattern,
    given with its flags.
    """

    files: dict[str, Seen] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    questions: set[tuple[str, str]] = field(default_factory=set)
    found: dict[tuple[str, str], str] = field(default_factory=dict)
    said: dict[str, dict[tuple[str, int], bool]] = field(default_factory=dict)
    is_steady: bool = True
    before: Before | None = None

    def saw(self, path: str, stamp: Stamp, digest: str) -> None:
        """A file was read."""
        known = self.files.get(path)
        if known is not None and known.digest != digest:
            self.is_steady = False
        self.files[path] = Seen(stamp, digest, was_whole=known is not None and known.is_whole)
        if self.before is not None:
            self.before.compare(path, digest)

    def note(self, which: str, path: str, found: str) -> None:
        """A listing, a kind or a link was looked up."""
        table: dict[str, str] = getattr(self, which)
        if table.setdefault(path, found) != found:
            self.is_steady = False

    def add(self, other: Reads) -> None:
        """What another process of the same run has seen."""
        self.is_steady &= other.is_steady
        for path, seen in other.files.items():
            self.saw(path, seen.stamp, seen.digest)
            self.files[path].is_whole = seen.is_whole or self.files[path].was_whole
        for which in ("folders", "kinds", "links"):
            for path, found in getattr(other, which).items():
                self.note(which, path, found)
        self.questions |= other.questions
        self.found.update(other.found)
        for path, answers in other.said.items():
            self.said.setdefault(path, {}).update(answers)


@dataclass
class Before:
    """The notes of an earlier run, and of which files they hold still; `targets` are those that it was asked about.

    `edited` are files whose text is not that on disk, `same` those that were read again and have not changed.
    """

    reads: Reads
    targets: frozenset[str] = frozenset()
    edited: frozenset[str] = frozenset()
    same: set[str] = field(default_factory=set)

    def compare(self, path: str, digest: str) -> None:
        """A file was read."""
        known = self.reads.files.get(path)
        if known is not None and known.digest == digest and path not in self.edited:
            self.same.add(path)
        else:
            self.same.discard(path)
