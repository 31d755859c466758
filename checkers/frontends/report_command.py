"""`onescience-check report`: the checklists and tables of the guide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..language import local, tr, use
from ..settings import Settings, sizes
from .exits import CLEAN, FOUND
from .lang import Lang
from .project import settings_of
from .streams import existing, progress, working_folder


class ReportFormat(str, Enum):
    """How the report is printed."""

    text = "text"
    markdown = "markdown"
    html = "html"
    json = "json"


def report(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders of the model; the current folder if none.")
    ] = None,
    *,
    format: Annotated[
        ReportFormat, typer.Option(metavar="text|markdown|html|json", help="How the report is printed.")
    ] = ReportFormat.text,
    tp: Annotated[
        str, typer.Option(metavar="SIZES", help="Tensor-parallel sizes that must work: 1,2,4,8.")
    ] = "",
    lang: Lang = None,
) -> None:
    """Fill in the checklists and tables of the guide for each distributed model, before it is merged.

    The project around the paths is read as a whole. Exit code: 0 all models ready, 1 one is not or nothing was found,
    2 something could not be read.
    """
    if format is ReportFormat.json and lang is None:
        use("en")
    working_folder()
    given = paths or [Path()]
    settings = settings_of(given[0].absolute())
    raise typer.Exit(_report(given, replace(settings, tp=tp_sizes(tp)) if tp else settings, format))


def _report(paths: Sequence[Path], settings: Settings, format: ReportFormat) -> int:
    from ..report.build import make_report

    existing(paths)
    with progress() as step:
        made = make_report(paths, settings, step)
    if format is ReportFormat.json:
        from .report_json import render
    elif format is ReportFormat.markdown:
        from .report_markdown import render
    elif format is ReportFormat.html:
        from .report_html import render
    else:
        from .report_text import render
    render(made)
    return CLEAN if made.models and all(model.ready for model in made.models) else FOUND


def tp_sizes(text: str) -> tuple[int, ...]:
    """The sizes that an option of the command names.

    Raises:
        typer.BadParameter: it names none.
    """
    try:
        return sizes(text)
    except (TypeError, ValueError):
        raise typer.BadParameter(
            local(tr("%(text)s: write sizes such as 1,2,4,8", text=repr(text))), param_hint="--tp"
        ) from None
