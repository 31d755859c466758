"""One run: files, project, analysis, rules, and the figures of the summary."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .files.discovery import FileSet
from .finding import Finding, Result, Skipped, Summary
from .language import tr
from .project.places import is_test
from .project.project import Project
from .rule import Rule, Scope
from .selection import ignored_files, selected_rules
from .settings import Settings
from .suppression import split_suppressed
from .tpstate.analysis import Analysis
from .tpstate.census import count_layers
from .workers import apply_rules

Progress = Callable[[str, int, int], None]

_RECURSION = 12_000


@dataclass(frozen=True)
class Examination:
    """A run with everything it worked out, for those who ask more than the findings.

    `found` is what the rules said of every file that was read, also of those that were not asked about.
    """

    result: Result
    found: tuple[Finding, ...]
    analysis: Analysis
    files: FileSet
    rules: tuple[Rule, ...]


def run(
    paths: Sequence[Path],
    settings: Settings,
    progress: Progress | None = None,
    file_set: FileSet | None = None,
) -> Result:
    """Check the Python files under `paths`.

    `progress(step, done, total)` is called as the run goes on. Findings are sorted and each is there once.
    """
    with room():
        return examine(file_set or FileSet.gather(paths, settings), settings, progress).result


def examine(files: FileSet, settings: Settings, progress: Progress | None = None) -> Examination:
    """Check a set of files and keep what was worked out; call it, and use its analysis, inside `room()`."""
    project = Project(files, settings)
    analysis = Analysis(project)
    rules = tuple(rules_for(project))
    found: list[Finding] = []
    skipped: list[Skipped] = []
    for findings, fault in apply_rules(rules, analysis, settings.jobs, progress):
        found += findings
        skipped += fault
    skipped += [
        Skipped(cls.module.display, tr("internal error in class %(cls)s: %(text)s", cls=cls.name, text=text))
        for cls, text in analysis.log.failed
    ]
    return Examination(_result(found, skipped, analysis, files), tuple(found), analysis, files, rules)


def rules_for(project: Project) -> Iterator[Rule]:
    """The rules that this run applies: what was selected, and guide rules only where the guide applies."""
    for rule in selected_rules(project.settings):
        if rule.scope is Scope.UNIVERSAL or project.follows_guide:
            yield rule


def _result(found: list[Finding], skipped: list[Skipped], analysis: Analysis, files: FileSet) -> Result:
    targets = {module.display for module in analysis.project.modules if module.path in files.targets}
    named = {shown: Path(os.path.abspath(shown)) for shown in {finding.place.path for finding in found}}
    loaded = {shown: files.load(path) for shown, path in named.items() if path in files.targets}
    texts = {shown: source.text for shown, source in loaded.items() if source is not None}
    unique = {(f.place, f.code, f.symbol, f.message, f.decided): f for f in found if f.place.path in texts}
    # a trap that a test does not spring, and what it costs, are none
    tests = {shown for shown, text in texts.items() if is_test(shown, text)}
    unique = {key: f for key, f in unique.items() if f.code[0] == "E" or f.place.path not in tests}
    if analysis.project.settings.per_file_ignores:
        is_off = ignored_files(analysis.project.settings)
        unique = {key: f for key, f in unique.items() if not is_off(named[f.place.path], f.symbol)}
    ordered = sorted(unique.values(), key=lambda finding: finding.sort_key)
    kept, suppressed = split_suppressed(ordered, files.source)
    decided_places = {(finding.place, finding.symbol) for finding in kept if finding.decided}
    findings = [finding for finding in kept if finding.decided]
    undecided = [f for f in kept if not f.decided and (f.place, f.symbol) not in decided_places]
    census = count_layers(analysis, targets)
    summary = Summary(
        files=files.seen,
        parallel_layers=census.layers,
        row_layers=census.rows,
        inputs_decided=census.decided,
        inputs_undecided=census.undecided,
        suppressed=len([finding for finding in suppressed if finding.decided]),
        by_symbol=dict(sorted(Counter(finding.symbol for finding in findings).items())),
    )
    too_large: dict[str, list[str]] = {}
    for cls in analysis.log.exhausted:
        if cls.module.display in targets:
            too_large.setdefault(cls.module.display, []).append(cls.name)
    exhausted = [
        Skipped(
            path, tr("too large to follow to the end, checked in part: %(names)s", names=", ".join(names))
        )
        for path, names in too_large.items()
    ]
    return Result(
        findings,
        undecided,
        sorted([*files.skipped, *skipped, *exhausted], key=lambda s: (s.path, s.reason)),
        summary,
        suppressed,
    )


@contextmanager
def room() -> Iterator[None]:
    """Deep code needs a deep stack; syntax trees hold no cycles, so collecting garbage only costs time."""
    limit, was_on = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, _RECURSION))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if was_on:
            gc.enable()
