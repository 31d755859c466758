"""What `verify` found, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .verify_words import label, said


def render(result: Any) -> None:
    """Print a `Result` of the runtime on standard output."""
    console = Console(highlight=False, emoji=False, markup=False, soft_wrap=True)
    count = len(result.findings)
    title = f"{label(result.part)}, {label('tensor-parallel x pipeline')} {result.layout}: "
    findings = label("finding") + ("s" if count > 1 and label("finding") == "finding" else "")
    console.print(Text(title + (f"{count} {findings}" if count else label("no findings")), style="bold"))
    for finding in result.findings:
        for line in _lines(finding):
            console.print(Text(line))
        console.print()
    if result.figures:
        console.print(_costs(result))
    for line in _facts(result):
        console.print(Text(line))
    for note in result.notes:
        console.print(Text(f"{label('not looked at')}: {said(note)}", style="yellow"))


def _lines(finding: Any) -> Iterator[str]:
    line = f":{finding.line}" if finding.line else ""
    place = f"{finding.path}{line}" if finding.path else label("(no line of yours)")
    yield f"{place}  {' '.join(filter(None, (finding.kind, finding.rule)))}"
    if finding.where:
        ranks = (
            f", {label('tensor-parallel rank')} {', '.join(map(str, finding.ranks))}" if finding.ranks else ""
        )
        yield f"    {label('in')} {finding.where}{ranks}"
    yield f"    {said(finding.message)}"
    if finding.given:
        yield f"    {label('it was given')} {said(finding.given)}"
    for line in finding.because:
        yield f"    {label('called from')} {line}"


def _costs(result: Any) -> Table:
    title = label("costs of each stage on one rank, per micro-batch (traced)")
    table = Table(title=title, title_justify="left")
    for name in (
        "stage",
        "parameters",
        "GFLOP forward + backward",
        "of the mean",
        "kept for backward, MiB",
        "sent, MiB",
    ):
        table.add_column(label(name), justify="right", overflow="fold")
    for row in result.figures:
        table.add_row(
            str(row.stage),
            f"{row.parameters:,}",
            f"{row.flops / 1e9:,.2f}",
            f"{row.share:.0%}" + ("" if 0.8 <= row.share <= 1.2 else f" {label('(more than 20 % off)')}"),
            f"{row.saved / 2**20:,.1f}",
            f"{row.sent / 2**20:,.1f}",
        )
    return table


def _facts(result: Any) -> Iterator[str]:
    for name, value in result.facts.items():
        if value not in (None, "", {}):
            adam = "of parameters, gradients and Adam"
            yield f"{label(name)}: {str(value).replace(adam, label(adam))}"
