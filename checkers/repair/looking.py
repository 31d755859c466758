"""The checked files as they are on the disk, or as edits would leave them: what is found in either."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine import Progress, examine, room
from ..files.discovery import FileSet
from ..finding import Edit, Finding
from ..settings import Settings
from .text import line_after

Key = tuple[str, str, int]
"""File, symbol and line: what tells one finding from another in the same text."""


@dataclass(frozen=True)
class Look:
    """What one run found.

    `elsewhere` is what rules say of files that were only read to understand the checked ones: an edit must not move a
    fault there. `edited` holds the bytes that are not those on the disk.
    """

    findings: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]
    skipped: Counter[tuple[str, str]]
    files: FileSet
    edited: Mapping[Path, bytes]

    def keys(self, edits: Mapping[str, list[Edit]] | None = None) -> Counter[Key]:
        """What was found, at the lines where it stands after the edits of each file."""
        made = edits or {}
        return Counter(key_of(f, made.get(f.place.path, ())) for f in (*self.findings, *self.elsewhere))


def key_of(finding: Finding, edits: Iterable[Edit] = ()) -> Key:
    """How a finding is known again after the edits of its file."""
    place = finding.place
    return place.path, finding.symbol, line_after(edits, place.line, place.column)


def look(
    paths: Sequence[Path], settings: Settings, edited: Mapping[Path, bytes], progress: Progress | None = None
) -> Look:
    """Check the paths, with other bytes for some of the files."""
    files = FileSet.gather(paths, settings, edited)
    files.beside = True
    with room():
        seen = examine(files, settings, progress)
    named = {source.display for source in files.parsed if source.path in files.targets}
    beside = {
        (f.place, f.symbol, f.message): f for f in seen.found if f.decided and f.place.path not in named
    }
    findings = tuple(seen.result.findings)
    skipped = Counter((skip.path, skip.reason) for skip in seen.result.skipped)
    del seen
    gc.collect()  # the analysis holds cycles, and the next one takes as much room again
    return Look(findings, tuple(beside.values()), skipped, files, edited)
