"""Applying the rules, by one process or by several that share what was analysed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence

from .files import disk
from .finding import Finding, Skipped
from .language import tr
from .plugins.loading import fault
from .rule import Rule
from .tpstate.analysis import Analysis

Outcome = tuple[list[Finding], list[Skipped]]

_shared: list[tuple[Sequence[Rule], Analysis]] = []
"""What forked workers find already there: it is large, and holds syntax trees that are slow to send."""


def apply_rules(rules: Sequence[Rule], analysis: Analysis, jobs: int) -> list[Outcome]:
    """What each rule found, and its fault where it failed, in the order of `rules` whatever `jobs` is.

    `jobs` processes are used where the system can fork; elsewhere the rules run one after the other.
    """
    if jobs == 1 or len(rules) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [_apply(rule, analysis) for rule in rules]
    _shared.append((rules, analysis))
    try:
        with multiprocessing.get_context("fork").Pool(min(jobs, len(rules))) as pool:
            found = pool.map(_apply_shared, range(len(rules)), chunksize=4)
        for _, reads in found:
            disk.pass_on(reads)
        return [outcome for outcome, _ in found]
    finally:
        _shared.pop()


def _apply_shared(index: int) -> tuple[Outcome, disk.Reads]:
    rules, analysis = _shared[-1]
    with disk.watched() as reads:
        return _apply(rules[index], analysis), reads


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
