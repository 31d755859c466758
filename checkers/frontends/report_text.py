"""The report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ..language import local, tr
from ..report.model import Mark, ModelReport, Node, Report
from .report_sections import NOTHING, Section, facts, heading, label, places, sections
from .streams import visible_fields

_STYLES = {"✅": "green", "❌": "bold red", "?": "bold yellow"}
_KINDS = {"distributed": "green", "parallel": "green", "plain": "bold red", "unresolved": "bold yellow"}
_VERDICTS = {True: "bold green", False: "bold red", None: "bold yellow"}


def render(report: Report) -> None:
    """Print the report on standard output."""
    report = visible_fields(report)
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = max(console.width, _needed(report))
    for model in report.models:
        _model(console, model)
    if not report.models:
        console.print(local(NOTHING))
    for skipped in report.skipped:
        console.print(Text(local(tr("not analysed: %(file)s", file=skipped)), style="yellow"))


def open_lines(report: Report) -> Iterator[str]:
    """The lines of the checklists that could not be decided, one a line of text."""
    for model in report.models:
        lines = [line for checklist in model.checklists for line in checklist.lines if line.mark is Mark.OPEN]
        if lines:
            said = "%(model)s: the report could not decide %(number)s lines of its checklists:"
            yield local(tr(said, model=model.name, number=len(lines)))
        for line in lines:
            yield f"  ? {local(line.text)}: {local(line.note)}"


def _needed(report: Report) -> int:
    """The width at which no path is broken: a checklist gives three fifths of it to what was found."""
    cells = (
        word
        for model in report.models
        for section in sections(model)
        for row in section.rows
        for cell in row
        for word in cell.split()
        if "/" in word
    )
    named = (f"{name}  {value}" for model in report.models for name, value in facts(model))
    tasks = (
        line for model in report.models for task in model.tasks for line in places(task.places).splitlines()
    )
    return max(
        (2 * max(map(len, cells), default=0) + 8, *(len(text) + 4 for text in (*named, *tasks))), default=0
    )


def _model(console: Console, model: ModelReport) -> None:
    console.rule(Text(f"{model.name}  ({model.folder})", style="bold"), align="left")
    console.print(Text(heading(model), style=_VERDICTS[model.ready]))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in facts(model):
        grid.add_row(name, value)
    console.print(grid)
    for note in model.notes:
        console.print(Text(f"! {local(note)}", style="yellow"))
    console.print()
    found = list(sections(model))
    for section in found[:3]:
        _section(console, section)
    _tree(console, model)
    for section in found[3:]:
        _section(console, section)
    _tasks(console, model)


def _section(console: Console, section: Section) -> None:
    console.print(Text(section.title, style="bold"))
    if section.rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        for index, name in enumerate(section.columns):
            table.add_column(name, overflow="fold", no_wrap=not name, ratio=_ratio(section, index))
        for row in section.rows:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        console.print(table)
    for note in section.notes:
        console.print(Text(f"  {note}", style="dim"))
    console.print()


def _ratio(section: Section, index: int) -> int | None:
    """Checklists give most of the width to what was found."""
    if len(section.columns) != 3:
        return None
    return {0: None, 1: 2}.get(index, 3)


def _tree(console: Console, model: ModelReport) -> None:
    console.print(Text(local("Call tree"), style="bold"))
    for root in model.tree:
        console.print(_branch(root, Tree(_text(root), guide_style="dim")))
    console.print()


def _branch(node: Node, tree: Tree) -> Tree:
    for child in node.children:
        _branch(child, tree.add(_text(child)))
    return tree


def _text(node: Node) -> Text:
    name, kind, rest = label(node)
    text = Text(name).append(f"  {kind}", style=_KINDS.get(node.kind, "dim"))
    if rest:
        text.append(f"  {rest}", style="bold red" if node.config == "stops" else "dim")
    place = f"{node.at.path.rsplit('/', 1)[-1]}:{node.at.line}"
    return text if node.as_in else text.append(f"  {place}", style="dim")


def _tasks(console: Console, model: ModelReport) -> None:
    console.print(Text(local("To do" if model.tasks else "Nothing to do"), style="bold"))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="dim")
    grid.add_column(overflow="fold")
    for number, task in enumerate(model.tasks, 1):
        text = Text(f"{task.code} {task.rule}  ", style="bold") if task.rule else Text()
        text.append(local(task.what), style="not bold")
        if task.places:
            text.append(f"\n{places(task.places)}", style="not bold dim")
        grid.add_row(f"{number}.", text)
    console.print(grid)
    console.print()
