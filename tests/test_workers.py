"""Several jobs give the same report as one, findings, faults and order alike."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from onescience_check.checkers.engine import room, run
from onescience_check.checkers.files import disk
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Result
from onescience_check.checkers.project.project import NotYet, Project
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.analysis import Analysis

EXAMPLE = Path(__file__).parent.parent / "docs" / "example"


def test_two_jobs_report_what_one_reports() -> None:
    settings = Settings(profile="guide")
    one = run([EXAMPLE], settings)
    two = run([EXAMPLE], replace(settings, jobs=2))
    assert one.findings, "the example holds faults"
    assert two == one


def test_any_number_of_jobs_reports_the_same(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        shutil.copytree(EXAMPLE, tmp_path / name)  # enough files for other processes
    settings = Settings(profile="guide", base=tmp_path)
    one, *others = [examine_with(tmp_path, replace(settings, jobs=jobs)) for jobs in (1, 2, 3)]
    assert one[0].findings
    assert all(other == one for other in others)


def examine_with(tree: Path, settings: Settings) -> tuple[Result, set[str]]:
    """What was found, and which files were read for it."""
    with disk.watched() as reads:
        return run([tree], settings), set(reads.files)


def test_a_rule_that_asks_for_the_analysis_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def forward_step(x):\n    return x\n")
    settings = Settings(base=tmp_path)
    with room():
        analysis = Analysis(Project(FileSet.gather([tmp_path], settings), settings))
        analysis.project.is_withheld = True
        for asked in (
            lambda: analysis.log,
            lambda: list(analysis.built()),
            lambda: analysis.project.followed,
        ):
            with pytest.raises(NotYet):
                asked()
        analysis.project.is_withheld = False
        assert not analysis.log.failed and analysis.project.followed
