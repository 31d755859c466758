"""Several jobs give the same report as one, findings, faults and order alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

EXAMPLE = Path(__file__).parent.parent / "docs" / "example"


def test_two_jobs_report_what_one_reports() -> None:
    settings = Settings(profile="guide")
    one = run([EXAMPLE], settings)
    two = run([EXAMPLE], replace(settings, jobs=2))
    assert one.findings, "the example holds faults"
    assert two == one
