"""The result as JSON, version 2."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from ..files.discovery import FileSet
from ..finding import Finding, Fix, Place, Result
from ..language import local, localized
from .formats.terms import rule_of

VERSION = 2


def render(
    result: Result,
    files: FileSet,
    *,
    strict: bool,
    statistics: bool,
    quiet: bool = False,
    file: TextIO | None = None,
) -> None:
    """Print one JSON document; it always holds the undecided places and the counts."""
    print(json.dumps(localized(document(result)), indent=2), file=file)


def document(result: Result) -> dict[str, Any]:
    """The document of a result. Paths are relative to the working folder, lines and columns count from 1."""
    return {
        "version": VERSION,
        "tool": tool_name(),
        "findings": [_finding(finding) for finding in result.findings],
        "undecided": [_finding(finding) for finding in result.undecided],
        "skipped": [asdict(skip) for skip in result.skipped],
        "summary": asdict(result.summary),
        "accepted": len(result.accepted),
        "stale": result.stale,
        "older": result.older,
        "left_out": result.left_out,
    }


def tool_name() -> str:
    """`onescience-check` and its version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"onescience-check {version('onescience-check')}"
    except PackageNotFoundError:
        return "onescience-check (not installed)"


def _finding(finding: Finding) -> dict[str, Any]:
    """A finding with all that its rule says of it, so that nobody has to ask again."""
    rule = rule_of(finding)
    return {
        **_place(finding.place),
        "id": finding.code,
        "symbol": finding.symbol,
        "message": finding.message,
        "object": finding.object,
        "evidence": [asdict(step) for step in finding.evidence],
        "guide": finding.guide,
        "advice": finding.advice,
        "why": local(rule.why) if rule is not None else "",
        "symptom": rule.symptom.name.lower() if rule is not None else "",
        "runtime": local(rule.runtime) if rule is not None else "",
        "fix": _fix(finding.fix) if finding.fix else None,
        "confidence": finding.confidence,
    }


def _place(place: Place) -> dict[str, Any]:
    """Columns count from 1, as in the text; `end_column` is the first one behind the span."""
    return {**asdict(place), "column": place.column + 1, "end_column": place.end_column + 1}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{**_place(edit.place), "text": edit.text} for edit in fix.edits]
    return {"applicability": fix.applicability, "edits": edits}
