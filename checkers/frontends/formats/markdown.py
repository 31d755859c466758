"""Markdown for a merge request: the verdict, a short table, and the evidence folded."""

from __future__ import annotations

import html
from collections.abc import Iterator

from ...files.discovery import FileSet
from ...finding import Finding, Result
from ...language import local, tr
from ..streams import visible
from ..text_report import summary_lines, verdict
from .terms import NAME


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """The page."""
    yield from (f"### {NAME}: {_cell(local(verdict(result)))}", "")
    if result.findings:
        heads = [local(text) for text in (tr("place"), tr("rule"), tr("what is wrong"), tr("what to type"))]
        yield from (f"| {' | '.join(heads)} |", "|---|---|---|---|")
        yield from map(_row, result.findings)
        yield ""
        told = [finding for finding in result.findings if finding.evidence]
        if told:
            yield from (f"<details><summary>{local(tr('How each is known'))}</summary>", "")
            for finding in told:
                yield f"- {_place(finding.place.path, finding.place.line)} {finding.symbol}"
                for step in finding.evidence:
                    yield f"  - {_place(step.path, step.line)}: {_cell(local(step.text))}"
            yield from ("", "</details>", "")
    yield from (_cell(str(line)) for line in list(summary_lines(result, strict=False))[1:])


def _row(finding: Finding) -> str:
    cells = (
        _place(finding.place.path, finding.place.line),
        f"{finding.code} {finding.symbol}",
        _cell(local(finding.message)),
        _cell(local(finding.advice)),
    )
    return f"| {' | '.join(cells)} |"


def _place(path: str, line: int) -> str:
    return f"<code>{html.escape(path).replace('|', '&#124;')}:{line}</code>"


def _cell(text: str) -> str:
    """Text in one line of a table; what stands between backticks stays code."""
    parts = visible(" ".join(text.split())).replace("|", "&#124;").split("`")
    is_paired = len(parts) % 2 == 1
    if not is_paired:
        return html.escape("`".join(parts), quote=False).replace("&amp;#124;", "&#124;")
    shown = [html.escape(part, quote=False).replace("&amp;#124;", "&#124;") for part in parts]
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(shown))
