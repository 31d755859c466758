"""One HTML file that needs no other: the verdict, what is found most, and each finding with its code and evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import groupby

from ...files.discovery import FileSet
from ...files.source import SourceFile
from ...finding import Finding, Result
from ...language import language, local, tr
from ..streams import visible
from ..text_report import repaired, summary_lines, verdict
from .terms import NAME, rule_of

_CLASSES = {"E": "error", "W": "warning"}
_AROUND = 2
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5c6675; --paper: #fff; --box: #f5f6f8; --line: #dfe3e8;
  --error: #b42318; --warning: #8a5a00; --note: #315fa8; --good: #1a7f4b; --mark: #fff0c7; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa5b4; --paper: #14181f; --box: #1d232d;
  --line: #313a47; --error: #ff8a7d; --warning: #f0b95a; --note: #8ab4f8; --good: #6fd3a0; --mark: #4a3c14; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Noto Sans CJK SC", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin-top: 2.2rem; font-family: ui-monospace, monospace; }
article { border: 1px solid var(--line); border-left: 4px solid var(--note); border-radius: 6px; margin: 1rem 0;
  padding: .8rem 1rem; break-inside: avoid; }
article.error { border-left-color: var(--error); } article.warning { border-left-color: var(--warning); }
.error .head b { color: var(--error); } .warning .head b { color: var(--warning); }
.head, .soft { color: var(--soft); } .head a { color: inherit; }
p { margin: .5rem 0; } code { font-family: ui-monospace, monospace; font-size: .92em; }
pre { background: var(--box); border-radius: 4px; padding: .6rem .8rem; margin: .6rem 0; overflow-x: auto;
  font: .85rem/1.5 ui-monospace, monospace; }
pre .at { background: var(--mark); display: inline-block; min-width: 100%; } pre .new { color: var(--good); }
table { border-collapse: collapse; } td, th { padding: .2rem 1rem .2rem 0; text-align: left; }
ul { padding-left: 1.2rem; margin: .4rem 0; } .fix { color: var(--good); }
@media print { body { max-width: none; } pre { white-space: pre-wrap; } details { display: block; } }
"""


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """The document."""
    title = f"{NAME}: {local(verdict(result))}"
    yield "<!doctype html>"
    yield f'<html lang="{language()}"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{_coded(title)}</h1>"
    yield from (
        f'<p class="soft">{_coded(str(line))}</p>' for line in list(summary_lines(result, strict=False))[1:]
    )
    yield from _counts(result)
    for path, group in groupby(result.findings, key=lambda finding: finding.place.path):
        yield f"<h2>{escape(path)}</h2>"
        for finding in group:
            yield from _finding(finding, files.source(path))
    yield "</body></html>"


def _counts(result: Result) -> Iterator[str]:
    counts = Counter((finding.code, finding.symbol) for finding in result.findings)
    if counts:
        yield "<table>"
        for (code, symbol), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            yield f"<tr><td>{count}</td><td>{escape(code)} {escape(symbol)}</td></tr>"
        yield "</table>"


def _finding(finding: Finding, source: SourceFile | None) -> Iterator[str]:
    place, rule = finding.place, rule_of(finding)
    yield f'<article class="{_CLASSES.get(finding.code[0], "note")}">'
    where = local(tr("line %(line)s", line=place.line))
    inside = f" · {escape(finding.object)}" if finding.object else ""
    yield f'<div class="head"><b>{finding.code} {escape(finding.symbol)}</b> · {escape(where)}{inside}</div>'
    yield f"<p>{_coded(local(finding.message))}</p>"
    if source is not None:
        yield _frame(source, place.line)
    if finding.advice:
        yield f'<p><b class="fix">{escape(local("fix"))}:</b> {_coded(local(finding.advice))}</p>'
    if finding.fix is not None and source is not None:
        rows = [f"{number:>5}  {escape(text)}" for number, text in repaired(finding.fix.edits, source)]
        if rows:
            yield f'<pre class="new"><span class="new">{chr(10).join(rows)}</span></pre>'
    if finding.evidence:
        yield f"<details open><summary>{escape(local('because'))}</summary><ul>"
        for step in finding.evidence:
            yield f"<li><code>{escape(step.path)}:{step.line}</code> {_coded(local(step.text))}</li>"
        yield "</ul></details>"
    if rule is not None:
        yield f"<details><summary>{escape(local('Why'))}</summary><p>{_coded(local(rule.why))}</p>"
        yield f"<p>{_coded(local(rule.runtime))}</p></details>"
    yield "</article>"


def _frame(source: SourceFile, line: int) -> str:
    numbers = range(max(1, line - _AROUND), min(len(source.lines), line + _AROUND) + 1)
    rows = []
    for number in numbers:
        row = f"{number:>5}  {escape(source.lines[number - 1].expandtabs(4))}"
        rows.append(f'<span class="at">{row}</span>' if number == line else row)
    return f"<pre>{chr(10).join(rows)}</pre>"


def _coded(text: str) -> str:
    """Text with what stands between backticks as code."""
    parts = [escape(part, quote=False) for part in visible(" ".join(text.split())).split("`")]
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
