"""The result for a reader: findings grouped by file, each with its code, its evidence and what to type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..files.discovery import FileSet
from ..files.source import SourceFile
from ..finding import Edit, Finding, Place, Result
from ..language import counted, listed, local, tr
from .references import reference
from .streams import visible

COLOURS = {"E": "bold red", "W": "bold yellow", "R": "bold magenta", "C": "bold cyan"}
MAX_SKIPPED = 20


def render(
    result: Result,
    files: FileSet,
    *,
    strict: bool,
    statistics: bool,
    quiet: bool = False,
    file: TextIO | None = None,
) -> None:
    """Print the report to a file, or on standard output."""
    console = Console(file=file, highlight=False, soft_wrap=True, emoji=False, markup=False)
    _print_findings(console, result.findings, files)
    if strict and result.undecided:
        console.print(Text(local("Could not be decided:") + "\n", style="bold"))
        _print_findings(console, result.undecided, files)
    if statistics:
        _print_statistics(console, result)
    if not quiet:
        _print_summary(console, result, strict)


def _print_findings(console: Console, findings: list[Finding], files: FileSet) -> None:
    for path, group in groupby(findings, key=lambda finding: finding.place.path):
        console.print(Text(visible(path), style="bold underline"))
        for finding in group:
            for line in _finding(finding, files.source(path)):
                console.print(line)
            console.print()


def _finding(finding: Finding, source: SourceFile | None) -> list[Text]:
    place = finding.place
    colour = COLOURS.get(finding.code[0], "bold")
    head = Text(f"  {place.line}:{place.column + 1}  ")
    head.append(f"{finding.code} {finding.symbol}", style=colour)
    if finding.object:
        head.append(local(tr("  in %(object)s", object=visible(finding.object))), style="dim")
    lines = [head, Text(f"    {visible(local(finding.message))}")]
    if source is not None:
        lines += _frame(place, source, colour)
    if finding.evidence:
        lines.append(Text(f"    {local('because')}", style="bold"))
        for step in finding.evidence:
            same = step.path == place.path
            where = (
                local(tr("line %(line)s", line=step.line)) if same else f"{visible(step.path)}:{step.line}"
            )
            lines.append(
                Text(f"      {where}: ", style="dim").append(visible(local(step.text)), style="not dim")
            )
    if finding.advice:
        lines.append(
            Text(f"    {local('fix:')} ", style="bold green").append(
                visible(local(finding.advice)), style="not bold default"
            )
        )
    if finding.fix and source is not None:
        lines += [
            Text(f"    {number:>5} + {text}", style="green")
            for number, text in repaired(finding.fix.edits, source)
        ]
    return lines


def _frame(place: Place, source: SourceFile, colour: str) -> list[Text]:
    """The line of the span with the line before it, and the span underlined."""
    shown = [number for number in (place.line - 1, place.line) if 1 <= number <= len(source.lines)]
    lines = [
        Text(f"    {number:>5} | ", style="dim").append(_shown(source.lines[number - 1]), style="not dim")
        for number in shown
        if number == place.line or source.lines[number - 1].strip()
    ]
    if place.line > len(source.lines):
        return lines
    text = source.lines[place.line - 1]
    end = place.end_column if place.end_line == place.line else len(text)
    start = cell_len(_shown(text[: place.column]))
    width = max(1, cell_len(_shown(text[place.column : end])))
    lines.append(
        Text("          | " + " " * start, style="dim").append("^" * width, style=f"not dim {colour}")
    )
    return lines


def _shown(text: str) -> str:
    """A line of source as a terminal can show it: a tab is four columns, control characters are not sent."""
    return "".join(character if character.isprintable() else " " for character in text.replace("\t", "    "))


def repaired(edits: tuple[Edit, ...], source: SourceFile) -> list[tuple[int, str]]:
    """The lines of this file that a fix changes, as they read afterwards; edits over several lines are left out."""
    changed: dict[int, str] = {}
    for edit in sorted(edits, key=lambda edit: edit.place, reverse=True):
        place = edit.place
        if place.path == source.display and place.line == place.end_line <= len(source.lines):
            line = changed.get(place.line, source.lines[place.line - 1])
            changed[place.line] = line[: place.column] + edit.text + line[place.end_column :]
    return [
        (number, _shown(part))
        for number, text in sorted(changed.items())
        for part in text.split("\n")
        if part.strip() and part != source.lines[number - 1]  # a line that only has new neighbours is not new
    ]


def _print_statistics(console: Console, result: Result) -> None:
    undecided = Counter(finding.symbol for finding in result.undecided)
    found = Counter(finding.symbol for finding in result.findings)
    codes = {finding.symbol: finding.code for finding in result.findings + result.undecided}
    console.print(Text(local("found  undecided  rule"), style="bold"))
    for symbol in sorted(codes, key=lambda symbol: (-found[symbol], codes[symbol])):
        console.print(f"{found[symbol]:>5}  {undecided[symbol]:>9}  {codes[symbol]} {symbol}")
    console.print()


def _print_summary(console: Console, result: Result, strict: bool) -> None:
    """Say what was seen and what was not, so that silence is never mistaken for proof."""
    for line in summary_lines(result, strict):
        console.print(line)


def summary_lines(result: Result, strict: bool) -> Iterator[Text | str]:
    """The figures below the findings, in the language of the reader."""
    summary, findings = result.summary, result.findings
    if summary.files or findings:
        yield Text(local(verdict(result)), style="bold")
    files, layers = counted(summary.files, "Python file"), counted(summary.parallel_layers, "parallel layer")
    inputs = summary.inputs_decided + summary.inputs_undecided
    if not summary.files and result.older is not None:
        pass  # nothing was looked at
    elif not summary.parallel_layers:
        yield local(tr("%(files)s, no parallel layer seen: there was nothing to decide.", files=files))
    elif not inputs:
        said = "%(files)s, %(layers)s seen, none of them row-parallel: there was no input to decide."
        yield local(tr(said, files=files, layers=layers))
    else:
        hint = "" if strict or not summary.inputs_undecided else tr(" (--strict lists undecided places)")
        said = (
            "%(files)s, %(layers)s seen, %(row)s of them row-parallel, with %(inputs)s: %(decided)s decided, "
            "%(undecided)s could not be%(hint)s."
        )
        yield local(
            tr(
                said,
                files=files,
                layers=layers,
                row=summary.row_layers,
                inputs=counted(inputs, "input"),
                decided=summary.inputs_decided,
                undecided=summary.inputs_undecided,
                hint=hint,
            )
        )
    yield from _past_lines(result)
    if findings:
        said = "`onescience-check explain %(symbol)s` says why, with a bad and a good example."
        yield local(tr(said, symbol=findings[0].symbol))
        if shown := reference(findings[0].symbol):
            yield local(tr("%(path)s shows the right way.", path=shown))
    if result.skipped:
        yield local(
            tr("%(files)s not analysed, or only in part:", files=counted(len(result.skipped), "file"))
        )
        for skip in result.skipped[:MAX_SKIPPED]:
            yield visible(f"  {skip.path}: {local(skip.reason)}")
        more = len(result.skipped) - MAX_SKIPPED
        if more > 0:
            yield local(tr("  ... and %(number)s more (--format json lists all)", number=more))


def verdict(result: Result) -> str:
    """How many findings of which kinds, in how many files."""
    findings, suppressed = result.findings, result.summary.suppressed
    kinds = Counter(finding.code[0] for finding in findings)
    errors, warnings = kinds["E"], kinds["W"]
    others = len(findings) - errors - warnings
    parts = [
        *([counted(errors, "error")] if errors else []),
        *([counted(warnings, "warning")] if warnings else []),
        *([counted(others, "suggestion")] if others else []),
    ]
    said = listed(", ", parts) or tr("No findings")
    if findings:
        files = counted(len({finding.place.path for finding in findings}), "file")
        said = tr("%(findings)s in %(files)s", findings=said, files=files)
    if result.left_out:
        said = tr(
            "%(findings)s; %(number)s more, no more harmful, left out", findings=said, number=result.left_out
        )
    if suppressed:
        off = counted(suppressed, "finding")
        said = tr("%(said)s, %(off)s switched off by comments", said=said, off=off)
    return tr("%(said)s.", said=said)


def _past_lines(result: Result) -> Iterator[str]:
    """What is not shown because it was there before, and what of it is gone."""
    older, accepted, stale = result.older, len(result.accepted), len(result.stale)
    if older is not None and not result.summary.files:
        yield local(tr("Nothing has changed."))
    elif older:
        yield local(tr("%(findings)s not shown: older than the change.", findings=counted(older, "finding")))
    if accepted:
        hidden = counted(accepted, "finding")
        yield local(tr("%(findings)s not shown: accepted by the baseline.", findings=hidden))
    if stale:
        said = (
            "%(entries)s of the baseline no longer found (`onescience-check baseline --update` removes them):"
        )
        yield local(tr(said, entries=counted(stale, "entry")))
        yield from (visible(f"  {entry}") for entry in result.stale)
