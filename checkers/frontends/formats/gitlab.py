"""A report of GitLab's code quality: a JSON array that its merge requests show."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...files.discovery import FileSet
from ...finding import Finding, Result
from .terms import NAME, fingerprints, text_of

_SEVERITIES = {"E": "critical", "W": "major", "R": "minor", "C": "info"}


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """The array."""
    names = fingerprints(result.findings, files)
    rows = [_issue(finding, name) for finding, name in zip(result.findings, names, strict=True)]
    yield json.dumps(rows, indent=2)


def _issue(finding: Finding, name: str) -> dict[str, object]:
    place = finding.place
    return {
        "type": "issue",
        "check_name": f"{NAME}/{finding.code} {finding.symbol}",
        "description": text_of(finding),
        "fingerprint": name,
        "severity": _SEVERITIES.get(finding.code[0], "info"),
        "location": {"path": place.path, "lines": {"begin": place.line, "end": place.end_line}},
    }
