"""`onescience-check diagnose`: read the log of a run that failed, and say which line of this project explains it."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..language import language, use
from ..settings import load_settings
from .exits import CLEAN, FAILED, FOUND
from .lang import Lang
from .streams import existing, progress, working_folder


class DiagnoseFormat(str, Enum):
    """How the answer is printed."""

    text = "text"
    json = "json"


def diagnose(
    log: Annotated[
        Path | None,
        typer.Argument(
            help="The log, or a folder of logs and flight-recorder dumps; - or none: standard input."
        ),
    ] = None,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files and folders of the project; the current folder if none."),
    ] = None,
    *,
    format: Annotated[
        DiagnoseFormat, typer.Option(metavar="text|json", help="How the answer is printed.")
    ] = DiagnoseFormat.text,
    lang: Lang = None,
) -> None:
    """Find the cause of a crash, a hang or a loss that is no number in the log of the run, and the line to change.

    Nothing of the project is run. Exit code: 0 no failure seen, 1 a failure was found, 2 the log could not be read.
    """
    from ..diagnose.answer import answer
    from ..diagnose.diagnosis import diagnose as find
    from ..diagnose.stream import read_logs
    from .diagnose_text import render

    if format is DiagnoseFormat.json and lang is None:
        use("en")
    working_folder()
    given = paths or [Path()]
    existing((*given, *([log] if log is not None and str(log) != "-" else [])))
    settings = load_settings(given[0].absolute())
    with progress() as step:
        if log is None or str(log) == "-":
            read = read_logs([], None if sys.stdin is None else sys.stdin.buffer)
        else:
            read = read_logs([log])
        made = find(read, given, settings, step)
    said = answer(made, language())
    if format is DiagnoseFormat.json:
        print(json.dumps({"version": 1, "language": language(), **said}, indent=2, ensure_ascii=False))
    else:
        render(said, language())
    if made.story.kind.name != "none-seen":
        raise typer.Exit(FOUND)
    raise typer.Exit(FAILED if read.problems or not read.bytes else CLEAN)
