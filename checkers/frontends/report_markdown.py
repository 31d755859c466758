"""The report as Markdown, for a merge request."""

from __future__ import annotations

from collections.abc import Iterator

from ..language import local, tr
from ..report.model import ModelReport, Node, Report
from .report_sections import NOTHING, Section, facts, heading, label, places, sections
from .streams import visible_fields


def render(report: Report) -> None:
    """Print the report on standard output."""
    report = visible_fields(report)
    print("\n".join(_report(report)))


def _report(report: Report) -> Iterator[str]:
    for model in report.models:
        yield from _model(model)
    if not report.models:
        yield local(NOTHING)
    for skipped in report.skipped:
        yield "- " + local(tr("not analysed: %(file)s", file=_escaped(skipped)))


def _model(model: ModelReport) -> Iterator[str]:
    yield from (f"## {_escaped(model.name)} ({_escaped(model.folder)}): {heading(model)}", "")
    yield from (f"- {name}: {_escaped(value)}" for name, value in facts(model))
    yield from (f"- **{_escaped(local(note))}**" for note in model.notes)
    yield ""
    yield from (f"### {local('To do' if model.tasks else 'Nothing to do')}", "")
    for number, task in enumerate(model.tasks, 1):
        rule = f"**{task.code} {task.rule}** " if task.rule else ""
        where = "".join(f"<br>`{line}`" for line in places(task.places).splitlines())
        yield f"{number}. {rule}{_escaped(local(task.what))}{where}"
    yield ""
    found = list(sections(model))
    for section in found[:3]:
        yield from _section(section)
    yield from (f"### {local('Call tree')}", "", "```text")
    for root in model.tree:
        yield from _tree(root, 0)
    yield from ("```", "")
    for section in found[3:]:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield from (f"### {section.title}", "")
    if section.rows:
        yield "| " + " | ".join(section.columns) + " |"
        yield "|" + "---|" * len(section.columns)
        yield from ("| " + " | ".join(map(_cell, row)) + " |" for row in section.rows)
        yield ""
    if section.notes:
        yield from (f"{_escaped(note)}  " for note in section.notes)
        yield ""


def _tree(node: Node, depth: int) -> Iterator[str]:
    name, kind, rest = label(node)
    where = "" if node.as_in else f"  {node.at}"
    yield f"{'  ' * depth}{name}  [{kind}]{f'  {rest}' if rest else ''}{where}"
    for child in node.children:
        yield from _tree(child, depth + 1)


def _cell(text: str) -> str:
    return "<br>".join(_escaped(line) for line in text.splitlines()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Text as it is: names with underscores and stars are no emphasis, and angle brackets are no HTML."""
    parts = text.split("`")
    plain = [part.translate(_SPECIAL) if index % 2 == 0 else part for index, part in enumerate(parts)]
    return "`".join(plain) if len(parts) % 2 else text.translate(_SPECIAL)


_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\*_<>[]"})
