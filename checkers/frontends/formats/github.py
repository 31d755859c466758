"""Workflow commands of GitHub Actions: each finding stands beside its line in a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from ...files.discovery import FileSet
from ...finding import Finding, Result
from .terms import NAME, text_of

_LEVELS = {"E": "error", "W": "warning"}


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """One command for each finding."""
    return map(_command, result.findings)


def _command(finding: Finding) -> str:
    place = finding.place
    fields = {
        "title": f"{NAME} {finding.code} {finding.symbol}",
        "file": place.path,
        "line": place.line,
        "endLine": place.end_line,
        "col": place.column + 1,
        "endColumn": place.end_column + 1,
    }
    if place.line != place.end_line:  # columns are taken for a single line only
        del fields["col"], fields["endColumn"]
    options = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    return f"::{_LEVELS.get(finding.code[0], 'notice')} {options}::{_data(text_of(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
