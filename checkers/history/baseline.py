"""Accepted findings: written to a file of the project, and left out of later runs.

An entry is kept by what its finding is about, not by a line number, so it survives code that moves, and files that
git knows to be renamed. What it no longer meets is stale: the fault is mended, or the code is another.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files.discovery import FileSet, display
from ..finding import Finding
from ..language import tr
from ..settings import Settings, SettingsError
from .git import head_of, renames
from .identity import Identity, identities

VERSION = 1


@dataclass
class Baseline:
    """The accepted findings of a project, with how many there are of each, and the commit they were seen at."""

    path: Path
    entries: Counter[Identity] = field(default_factory=Counter)
    revision: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Baseline:
        """The baseline of a project; an empty one where the file is not there.

        Raises:
            SettingsError: the file cannot be used.
        """
        path = settings.base / settings.baseline
        try:
            data = json.loads(path.read_text("utf-8"))
            if data["version"] != VERSION:
                said = "%(path)s: written by another version of onescience-check; write it anew: baseline"
                raise SettingsError(tr(said, path=path))
            entries = Counter(
                {
                    Identity(name, row["symbol"], row["in"], row["line"]): int(row.get("count", 1))
                    for name, rows in data["findings"].items()
                    for row in rows
                }
            )
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise SettingsError(tr("%(path)s: cannot be read: %(why)s", path=path, why=why)) from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            text = " ".join(str(error).split())
            raise SettingsError(tr("%(path)s: is no baseline: %(text)s", path=path, text=text)) from None
        return cls(path, entries, str(data.get("revision", "")))

    def write(self) -> None:
        """The file as a whole, with one entry a line, sorted, so that changes of it can be read and merged."""
        by_path: dict[str, list[dict[str, Any]]] = {}
        for entry, count in sorted(self.entries.items()):
            row = {"symbol": entry.symbol, "in": entry.inside, "line": entry.text}
            by_path.setdefault(entry.path, []).append(row | ({"count": count} if count > 1 else {}))
        lines = ["{", f'"version": {VERSION},', f'"revision": {json.dumps(self.revision)},', '"findings": {']
        for at, (path, rows) in enumerate(by_path.items()):
            lines.append(f"{json.dumps(path, ensure_ascii=False)}: [")
            lines += [
                f" {json.dumps(row, ensure_ascii=False)}{',' if number < len(rows) - 1 else ''}"
                for number, row in enumerate(rows)
            ]
            lines.append("]," if at < len(by_path) - 1 else "]")
        _replace(self.path, "\n".join((*lines, "}", "}", "")))

    def identities(self, findings: list[Finding], files: FileSet) -> list[Identity]:
        """The identities of findings, with their files named from the folder of the baseline."""
        return identities(findings, files.source, self.named)

    def named(self, shown: str) -> str:
        """The name in the baseline of a file that messages name so."""
        return os.path.relpath(os.path.abspath(shown), self.path.parent).replace(os.sep, "/")

    def split(
        self, findings: list[Finding], files: FileSet
    ) -> tuple[list[Finding], list[Finding], Counter[Identity]]:
        """Findings that are new, those that are accepted, and the entries that met none."""
        self.follow_renames(files)
        left = self.entries.copy()
        new, accepted = [], []
        for finding, own in zip(findings, self.identities(findings, files), strict=True):
            if left[own] > 0:
                left[own] -= 1
                accepted.append(finding)
            else:
                new.append(finding)
        return new, accepted, +left

    def follow_renames(self, files: FileSet) -> None:
        """Give entries of files that are gone the names that git knows these files by now."""
        gone = {entry.path for entry in self.entries if not os.path.exists(self.path.parent / entry.path)}
        if not gone or not self.revision:
            return
        moved = renames(self.path.parent, self.revision)
        self.entries = Counter(
            {
                Identity(
                    moved.get(e.path, e.path) if e.path in gone else e.path, e.symbol, e.inside, e.text
                ): count
                for e, count in self.entries.items()
            }
        )


def covered(
    baseline: Baseline, paths: Iterable[Path], files: FileSet, symbols: set[str]
) -> Callable[[Identity], bool]:
    """Which entries a run can speak of: those of its rules, in files that it checked whole or that are gone."""
    given = [os.path.abspath(path) for path in paths]
    skipped = {baseline.named(skip.path) for skip in (*files.skipped, *files.unusable)}

    def is_covered(entry: Identity) -> bool:
        path = os.path.abspath(baseline.path.parent / entry.path)
        below = any(path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in given)
        is_checked = Path(path) in files.targets or not os.path.exists(path)
        return below and is_checked and entry.symbol in symbols and entry.path not in skipped

    return is_covered


def write_baseline(
    baseline: Baseline, findings: list[Finding], files: FileSet, is_covered: Callable[[Identity], bool]
) -> None:
    """Accept findings in place of all that the run could speak of."""
    kept = {entry: count for entry, count in baseline.entries.items() if not is_covered(entry)}
    baseline.entries = Counter(kept) + Counter(baseline.identities(findings, files))
    baseline.revision = head_of(baseline.path.parent)
    baseline.write()


def _replace(path: Path, text: str) -> None:
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SettingsError(tr("%(path)s: cannot be written: %(why)s", path=path, why=why)) from None


def shown(entry: Identity, baseline: Baseline) -> str:
    """An entry as messages name it."""
    inside = f" in {entry.inside}" if entry.inside else ""
    return f"{display(baseline.path.parent / entry.path)}: {entry.symbol}{inside}: {entry.text}"
