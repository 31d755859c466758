"""One run: files, project, analysis, rules, and the figures of the summary."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

from .files.discovery import FileSet
from .finding import Finding, Result, Skipped, Summary
from .project.project import Project
from .rule import Rule, Scope
from .rules import all_rules
from .settings import Settings
from .suppression import Suppressions
from .tpstate.analysis import Analysis
from .tpstate.events import Built, ParallelCall
from .tpstate.inputs import Verdict, judge, provider
from .tpstate.providers import EMBEDDING, ROW
from .tpstate.values import State, Tensor

Progress = Callable[[str, int, int], None]

_RECURSION = 12_000


def run(
    paths: Sequence[Path],
    settings: Settings,
    progress: Progress | None = None,
    file_set: FileSet | None = None,
) -> Result:
    """Check the Python files under `paths`.

    `progress(step, done, total)` is called as the run goes on. Findings are sorted and each is there once.
    """
    with _roomy():
        files = file_set or FileSet.gather(paths, settings)
        project = Project(files, settings)
        analysis = Analysis(project)
        analysis.run_all(progress)
        found = _apply(chosen_rules(settings, project), analysis)
        return _result(found, analysis, files)
