"""The report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..language import language, local, tr
from ..report.model import Mark, Report
from .json_report import tool_name
from .report_picture import WIDTH, picture
from .report_sections import MARKS, NOTHING, VERDICTS, facts, label, sections
from .streams import visible_fields

_SIGNS = str.maketrans({"✅": "✔", "❌": "✘"})
"""Signs that every font has and that take the colour of the text."""

_CLASSES = {"✅": "yes", "❌": "no", "?": "open", "–": "none"}


def render(report: Report) -> None:
    """Print the page on standard output."""
    print(page(visible_fields(report)))


def page(report: Report) -> str:
    """The page; whatever the checked files say is shown as text."""
    pages = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["code"] = _code
    pages.filters["sign"] = lambda text: text.translate(_SIGNS)
    names: dict[str, Any] = {
        "report": report,
        "language": {"zh": "zh-CN"}.get(language(), language()),
        "tool": tool_name(),
        "say": lambda text, **fields: local(tr(text, **fields)),
        "nothing": local(NOTHING),
        "picture": picture,
        "width": WIDTH,
        "sections": lambda model: list(sections(model)),
        "facts": facts,
        "label": label,
        "verdict": lambda model: local(VERDICTS[model.ready]),
        "state": lambda model: {True: "yes", False: "no", None: "open"}[model.ready],
        "counts": _counts,
        "kind": lambda cell: _CLASSES.get(cell[:1], ""),
    }
    return pages.get_template("report.html").render(names)


def _counts(model: Any) -> list[tuple[str, str, int]]:
    """How often each mark stands in the checklists, with the class that colours it."""
    lines = [line.mark for checklist in model.checklists for line in checklist.lines]
    return [(MARKS[mark], _CLASSES[MARKS[mark]], lines.count(mark)) for mark in Mark]


def _code(text: str) -> Markup:
    """A sentence with what stands between backticks as code."""
    parts = [escape(part) for part in str(text).split("`")]
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )
