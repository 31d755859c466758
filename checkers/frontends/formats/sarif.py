"""SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ...files.discovery import FileSet
from ...finding import Edit, Evidence, Finding, Place, Result
from ...language import local
from ...rule import Rule
from .terms import NAME, fingerprints, rules_by_symbol, text_of, uri

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"E": "error", "W": "warning"}


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """The log, with one run. What a comment or the baseline switches off is there, marked as suppressed."""
    yield json.dumps(_log(result, files), indent=2)


def _log(result: Result, files: FileSet) -> dict[str, Any]:
    from ..json_report import tool_name

    off = [finding for finding in result.suppressed if finding.decided]
    found = [*result.findings, *off, *result.accepted]
    suppressions: list[list[dict[str, str]]] = [[]] * len(result.findings) + [[{"kind": "inSource"}]] * len(
        off
    )
    suppressions += [[{"kind": "external", "justification": "accepted by the baseline"}]] * len(
        result.accepted
    )
    used = {finding.symbol for finding in found}
    rules = [rule for symbol, rule in sorted(rules_by_symbol().items()) if symbol in used]
    index = {rule.symbol: number for number, rule in enumerate(rules)}
    names = fingerprints(found, files)
    notes = [
        {
            "level": "error" if skip.reason.startswith("internal error") else "warning",
            "message": {"text": f"{skip.path}: {local(skip.reason)}"},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(skip.path)}}],
        }
        for skip in result.skipped
    ]
    driver = {
        "name": NAME,
        "version": tool_name().partition(" ")[2].strip("()"),
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The working folder of the run."}}},
        "results": [
            _result(finding, index, name, marks)
            for finding, name, marks in zip(found, names, suppressions, strict=True)
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    parts = {
        "Why": local(rule.why),
        "At run time": local(rule.runtime),
        "Limits": local(rule.limits),
        "Guide": rule.guide,
        "Fix": rule.fix_text(),
    }
    flat = {name: " ".join(text.split()) for name, text in parts.items()}
    examples = (
        f"Wrong:\n\n```python\n{rule.example('bad')}```\n\nRight:\n\n```python\n{rule.example('good')}```"
    )
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.symbol.split("-")),
        "shortDescription": {"text": local(rule.title())},
        "fullDescription": {"text": flat["Why"]},
        "help": {
            "text": "\n".join(f"{name}: {text}" for name, text in flat.items()),
            "markdown": "\n\n".join([*(f"**{name}.** {text}" for name, text in flat.items()), examples]),
        },
        "defaultConfiguration": {"level": _LEVELS.get(rule.code[0], "note")},
        "properties": {
            "symbol": rule.symbol,
            "precision": "high",
            "tags": [rule.scope.value, rule.symptom.name.lower()],
        },
    }


def _result(
    finding: Finding, index: dict[str, int], name: str, marks: Sequence[dict[str, str]]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS.get(finding.code[0], "note"),
        "message": {"text": text_of(finding)},
        "locations": [{"physicalLocation": _location(finding.place)}],
        "relatedLocations": [_evidence(step, number) for number, step in enumerate(finding.evidence)],
        "partialFingerprints": {"onescienceCheck/v1": name},
        "suppressions": list(marks),
    }
    if finding.symbol in index:
        found["ruleIndex"] = index[finding.symbol]
    if finding.object:
        found["locations"][0]["logicalLocations"] = [{"name": finding.object}]
    if finding.fix is not None:
        found["fixes"] = [_fix(finding.fix.edits, local(finding.advice))]
        found["properties"] = {"applicability": finding.fix.applicability}
    return found


def _location(place: Place) -> dict[str, Any]:
    return {"artifactLocation": _artifact(place.path), "region": _region(place)}


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column + 1,
        "endLine": place.end_line,
        "endColumn": place.end_column + 1,
    }


def _artifact(path: str) -> dict[str, str]:
    return {"uri": uri(path)} if path.startswith("/") else {"uri": uri(path), "uriBaseId": "%SRCROOT%"}


def _evidence(step: Evidence, number: int) -> dict[str, Any]:
    place = {"artifactLocation": _artifact(step.path), "region": {"startLine": step.line}}
    return {"id": number, "message": {"text": local(step.text)}, "physicalLocation": place}


def _fix(edits: Sequence[Edit], advice: str) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        row = {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}}
        changes.setdefault(edit.place.path, []).append(row)
    return {
        "description": {"text": advice},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": rows} for path, rows in changes.items()
        ],
    }
