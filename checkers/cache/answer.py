"""What the engine says of some paths: by a run, or by an earlier one where a new run would see nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import disk
from ..files.discovery import FileSet, display
from ..files.source import SourceFile, Unusable, decode
from ..finding import Result
from ..settings import Settings
from . import store
from .packed import packed, unpacked
from .tool import tool_name
from .trace import Instead, Sight, matches, matches_of, noted, reads_of

if TYPE_CHECKING:
    from ..engine import Progress

FORM = 2
"""Counts the forms that answers have had: one of another form is not understood."""

STATES = 4
"""How many states of a tree are remembered for one question: what is compared with, and where an edit led back to."""

_BAD = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True)
class Answer:
    """A result, the files that it speaks of, and names for the contents that were read."""

    result: Result
    files: FileSet
    contents: Mapping[Path, str]


@dataclass
class _Remembered(FileSet):
    """The files of an earlier run: a text is read when it is asked for, and parsed only if its tree is."""

    names: frozenset[Path] = frozenset()
    texts: dict[Path, SourceFile | None] = field(default_factory=dict)

    def source(self, shown: str) -> SourceFile | None:
        path = Path(os.path.abspath(shown))
        if path in self.names and path not in self.texts:
            try:
                self.texts[path] = SourceFile(path, display(path), decode(self._bytes(path)))
            except Unusable:  # gone since a moment ago
                self.texts[path] = None
        return self.texts.get(path)


def answer(
    paths: Sequence[Path],
    settings: Settings,
    progress: Progress | None = None,
    edited: Mapping[Path, bytes] | None = None,
    *,
    is_cached: bool = True,
) -> Answer:
    """Check the Python files under `paths`; `edited` gives the texts of files that are not those on disk.

    Raises:
        SettingsError: a name of the settings matches no rule.
    """
    key = _key(paths, settings, edited or {}) if is_cached else ""
    found = _kept(key, settings, edited or {}) if is_cached else None
    return found[0] if found else _fresh(key, paths, settings, progress, edited or {})


def answer_before(
    paths: Sequence[Path], settings: Settings, texts: Mapping[Path, bytes | None]
) -> tuple[Answer, disk.Reads] | None:
    """The answer of an earlier run that saw these texts in place of those on disk, and what it read; None if none did.

    `texts` has the names of files as they are on disk, without links; None is no file.
    """
    instead = Instead({str(path): text for path, text in texts.items()})
    if not instead.is_possible:
        return None
    edited = {path: text for path, text in texts.items() if text is not None}
    return _kept(_key(paths, settings, {}), settings, edited, instead)


def _fresh(
    key: str,
    paths: Sequence[Path],
    settings: Settings,
    progress: Progress | None,
    edited: Mapping[Path, bytes],
) -> Answer:
    from ..engine import room, run
    from ..selection import check_names

    check_names(settings)  # an unknown name is refused before any file is read
    with disk.watched(_before(key, paths, settings, edited)) as reads:
        for plugin in settings.plugins:
            with suppress(OSError):
                disk.read(settings.base / plugin)  # what the rules say depends on it
        files = FileSet.gather(paths, settings, edited)
        result = run(paths, settings, progress, files)
    is_whole = not any(skip.is_fault for skip in result.skipped)
    if key and reads.is_steady and is_whole:
        with room():
            _keep(key, result, files, reads)
    return Answer(result, files, _contents(reads, edited))


def _keep(key: str, result: Result, files: FileSet, reads: disk.Reads) -> None:
    """Keep an answer, beside those of the last states of the tree."""
    reads.folders.pop(
        str(store.folder()), None
    )  # it may lie in the project, and changes with what is kept now
    kept = {
        "result": packed(result),
        "targets": [str(path) for path in sorted(files.targets)],
        "sources": [str(source.path) for source in files.parsed],
        "skipped": packed(files.skipped),
        "unusable": packed(files.unusable),
        "seen": files.seen,
    }
    for name, older in reversed(list(pairwise(_names(key)))):
        store.rename(name, older)
    store.save(key, {"form": FORM, "reads": noted(reads), "said": matches(reads.said), "kept": kept})


def _before(
    key: str, paths: Sequence[Path], settings: Settings, edited: Mapping[Path, bytes]
) -> disk.Before | None:
    """What the last run for this question noted, or for the same without texts that are not those on disk."""
    for name in dict.fromkeys((key, _key(paths, settings, {}))) if key else ():
        found = store.load(name)
        try:
            if found is not None and found["form"] == FORM:
                reads = reads_of(found["reads"])
                reads.said = matches_of(found["said"])
                return disk.Before(reads, frozenset(found["kept"]["targets"]), frozenset(map(str, edited)))
        except _BAD:
            pass
    return None


def _names(key: str) -> list[str]:
    """Under which keys the answers to one question are kept, for the states that a tree had last; the newest first."""
    return [key, *(f"{key}-{age}" for age in range(1, STATES))]


def _kept(
    key: str, settings: Settings, edited: Mapping[Path, bytes], instead: Instead | None = None
) -> tuple[Answer, disk.Reads] | None:
    for name in _names(key):
        found = _kept_as(name, settings, edited, instead)
        if found is not None:
            return found
    return None


def _kept_as(
    name: str, settings: Settings, edited: Mapping[Path, bytes], instead: Instead | None
) -> tuple[Answer, disk.Reads] | None:
    found = store.load(name)
    try:
        if found is None or found["form"] != FORM:
            return None
        reads, kept = reads_of(found["reads"]), found["kept"]
        sight = Sight(reads, FileSet.words(settings), instead)
        if not sight.is_same():
            return None
        files = _Remembered(
            targets=set(map(Path, kept["targets"])),
            skipped=unpacked(kept["skipped"]),
            unusable=unpacked(kept["unusable"]),
            seen=int(kept["seen"]),
            names=frozenset(map(Path, kept["sources"])),
            _edited=edited,
        )
        made = Answer(unpacked(kept["result"]), files, _contents(reads, edited))
    except _BAD:
        return None
    if sight.is_renewed and instead is None:
        store.save(name, {**found, "reads": noted(reads)})
    return made, reads


def _contents(reads: disk.Reads, edited: Mapping[Path, bytes]) -> dict[Path, str]:
    found = {Path(path): seen.digest for path, seen in reads.files.items() if seen.is_whole}
    return {**found, **{path: disk.digest(data) for path, data in edited.items()}}


def _key(paths: Sequence[Path], settings: Settings, edited: Mapping[Path, bytes]) -> str:
    """A name for the question. How many processes answer it makes no difference."""
    told: list[Any] = [getattr(settings, item.name) for item in fields(settings) if item.name != "jobs"]
    parts = [
        tool_name(),
        os.getcwd(),
        os.path.expanduser("~"),
        sys.getrecursionlimit(),
        [os.path.abspath(path) for path in paths],
        told,
        sorted((str(path), disk.digest(data)) for path, data in edited.items()),
    ]
    return disk.digest(repr(parts).encode(errors="surrogateescape"))
