"""Leaving out what was found before: the baseline, and what a change did not bring."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..finding import Result
from ..settings import Settings

if TYPE_CHECKING:
    from ..files.discovery import FileSet
    from ..history.changes import Change


def _change(revision: str, paths: Sequence[Path]) -> Change:
    from ..history.changes import Change  # it can run the engine, which takes long to import

    return Change.since(revision, paths)


class Past:
    """What a run is told of earlier ones. The revision and the baseline are looked at before any file is checked.

    Raises:
        SettingsError: there is no such revision, or the baseline cannot be used.
    """

    def __init__(
        self, paths: Sequence[Path], settings: Settings, revision: str, *, use_baseline: bool, strict: bool
    ) -> None:
        from ..history.baseline import Baseline

        self.paths, self.settings, self.strict = paths, settings, strict
        self.change = _change(revision, paths) if revision else None
        self.baseline = Baseline.of(settings) if use_baseline else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing has changed, so that nothing new can be found."""
        is_there = all(os.path.exists(path) for path in self.paths)
        return is_there and self.change is not None and not self.change.changed.files

    def without_old(self, result: Result, files: FileSet) -> Result:
        """The result as it is shown."""
        if self.change is not None:
            result = self.change.narrowed(result, files, self.paths, self.settings)
        if self.baseline is not None and self.baseline.entries:
            result = self._without_accepted(result, files)
        by_symbol = dict(sorted(Counter(finding.symbol for finding in result.findings).items()))
        return replace(result, summary=replace(result.summary, by_symbol=by_symbol))

    def _without_accepted(self, result: Result, files: FileSet) -> Result:
        from ..history.baseline import covered, shown

        assert self.baseline is not None
        new, accepted, left = self.baseline.split(result.findings, files)
        stale = []
        if left and self.change is None:
            from ..selection import selected_rules

            symbols = {rule.symbol for rule in selected_rules(self.settings)}
            is_covered = covered(self.baseline, self.paths, files, symbols)
            stale = sorted(entry for entry in left if is_covered(entry))
        return replace(
            result, findings=new, accepted=accepted, stale=[shown(entry, self.baseline) for entry in stale]
        )

    def fails(self, result: Result) -> bool:
        """Whether entries of the baseline that are no longer found make the run fail."""
        return self.strict and bool(result.stale)
