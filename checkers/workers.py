"""Applying the rules, by one process or by several: those that ask nothing of the analysis run beside it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from .files import disk
from .finding import Finding, Skipped
from .language import tr
from .plugins.loading import fault
from .project.project import NotYet
from .rule import Rule
from .tpstate.analysis import Analysis

Outcome = tuple[list[Finding], list[Skipped]]
Progress = Callable[[str, int, int], None]

FEW = 8
"""Modules below which a second process costs more time than it saves."""

_FREE, _WAITS, _TAKEN = range(3)


def apply_rules(
    rules: Sequence[Rule], analysis: Analysis, jobs: int, progress: Progress | None = None
) -> list[Outcome]:
    """Run the analysis, and every rule; what each found, and its fault where it failed, in the order of `rules`.

    With several `jobs`, where the system can fork, rules that ask nothing of the analysis are applied while it runs,
    and the others by all processes once it is done. No rule sees a difference: what it asks the project has one
    answer whatever was asked before.
    """
    is_alone = jobs < 2 or len(rules) < 2 or len(analysis.project.modules) < FEW
    if not is_alone and "fork" in multiprocessing.get_all_start_methods():
        with suppress(OSError):  # no memory to share, or no further process
            return _Crew(rules, analysis, jobs).work(progress)
    analysis.run_all(progress)
    return [_apply(rule, analysis) for rule in rules]


class _Crew:
    """Processes that take rules from one list, until none is left."""

    def __init__(self, rules: Sequence[Rule], analysis: Analysis, jobs: int) -> None:
        self._rules, self._analysis, self._jobs = rules, analysis, jobs
        self._fork = multiprocessing.get_context("fork")
        self._states = self._fork.Array("b", [_FREE] * len(rules))
        self._others: list[tuple[Any, Connection]] = []

    def work(self, progress: Progress | None) -> list[Outcome]:
        """What each rule found.

        Raises:
            OSError: the first process could not be started.
        """
        analysis, files = self._analysis, self._analysis.project.files
        for _ in range(self._jobs - 1):
            self._start(is_early=True)
        analysis.run_all(progress)
        busy = sum(process.is_alive() for process, _ in self._others)
        with suppress(OSError):
            for _ in range(self._jobs - 1 - busy):
                self._start(is_early=False)
        found = self._apply_all(is_early=False)
        for process, ours in self._others:
            with suppress(EOFError):  # it was killed: its rules are missing below
                outcomes, skipped, reads = ours.recv()
                found.update(outcomes)
                files.skipped += [skip for skip in skipped if skip not in files.skipped]
                disk.pass_on(reads)
            process.join()
        return [found[i] if i in found else _apply(rule, analysis) for i, rule in enumerate(self._rules)]

    def _start(self, is_early: bool) -> None:
        ours, theirs = self._fork.Pipe(duplex=False)
        process = self._fork.Process(target=self._help, args=(theirs, is_early), daemon=True)
        process.start()
        theirs.close()
        self._others.append((process, ours))

    def _help(self, result: Connection, is_early: bool) -> None:
        """What another process does."""
        skipped = self._analysis.project.files.skipped
        known = len(skipped)
        self._analysis.project.is_withheld = is_early
        with disk.watched() as reads:
            outcomes = self._apply_all(is_early)
        result.send((outcomes, skipped[known:], reads))

    def _apply_all(self, is_early: bool) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        while (index := self._take(is_early)) is not None:
            try:
                found[index] = _apply(self._rules[index], self._analysis)
            except NotYet:
                self._states[index] = _WAITS
        return found

    def _take(self, is_early: bool) -> int | None:
        """The next rule that nobody has taken; early on none that has asked for the analysis."""
        with self._states.get_lock():
            states = self._states[:]
            for state in (_FREE,) if is_early else (_WAITS, _FREE):
                if state in states:
                    index = states.index(state)
                    self._states[index] = _TAKEN
                    return index
        return None


def _apply(rule: Rule, analysis: Analysis) -> Outcome:
    try:
        return list(rule.check(analysis)), []
    except Exception as error:  # one rule's fault must not hide what the others found
        if rule.source:
            said = "fault in the project's rule %(symbol)s: %(text)s"
            text = tr(said, symbol=rule.symbol, text=fault(error, rule.source))
            return [], [Skipped(rule.source, text)]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return [], [
            Skipped(
                rule.symbol, tr("internal error in rule %(symbol)s: %(text)s", symbol=rule.symbol, text=text)
            )
        ]
