"""`--format NAME[:FILE]`, several times in one run: what is written, and where to."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ...language import language, speaking, tr
from ...settings import SettingsError
from .terms import most_harmful

if TYPE_CHECKING:
    from ...files.discovery import FileSet
    from ...finding import Result

FORMATS = ("text", "agent", "json", "sarif", "github", "gitlab", "junit", "markdown", "html")
FOR_PROGRAMS = frozenset({"json", "sarif", "github", "gitlab", "junit"})
"""What other programs read is English, whoever runs the command."""


@dataclass(frozen=True)
class Output:
    """One form of the result, and its file; standard output where there is none."""

    name: str
    file: Path | None = None


@dataclass(frozen=True)
class Shown:
    """What is written of a result, and in which language: that of the reader, if `is_chosen` everywhere.

    `paths` are those that were asked for, `most` is the number of findings that there is room for, if not 0.
    """

    outputs: tuple[Output, ...]
    strict: bool
    statistics: bool
    quiet: bool
    is_chosen: bool
    paths: tuple[str, ...] = ()
    most: int = 0

    @property
    def has_text(self) -> bool:
        """Whether a reader sees the result on standard output."""
        return Output("text") in self.outputs


def outputs(given: Sequence[str]) -> tuple[Output, ...]:
    """What `--format` asks for; text where it asks for nothing.

    Raises:
        SettingsError: a name is unknown, two forms would share standard output, or a folder is not there.
    """
    found = []
    for text in (part for item in given for part in item.split(",")):
        name, colon, file = text.strip().partition(":")
        if name not in FORMATS or (colon and not file):
            said = "--format %(text)s: write one of %(names)s, or NAME:FILE"
            raise SettingsError(tr(said, text=text, names=", ".join(FORMATS)))
        if file and not os.path.isdir(Path(file).absolute().parent):
            raise SettingsError(tr("--format %(text)s: there is no such folder", text=text))
        found.append(Output(name, Path(file) if file else None))
    if len([output for output in found if output.file is None]) > 1:
        raise SettingsError(
            tr("--format: only one form goes to standard output; write NAME:FILE for the others")
        )
    if len({output.file for output in found}) < len(found):
        raise SettingsError(tr("--format: two forms go to one file"))
    return tuple(found) or (Output("text"),)


def write(result: Result, files: FileSet, shown: Shown) -> None:
    """Write every form, to its file or to standard output.

    Raises:
        SettingsError: a file cannot be written.
    """
    if shown.most:
        result = most_harmful(result, shown.most)
    for output in shown.outputs:
        speaks = "en" if output.name in FOR_PROGRAMS and not shown.is_chosen else language()
        with speaking(speaks):
            if output.file is None:
                _write(output.name, result, files, shown, sys.stdout)
                continue
            try:
                with open(output.file, "w", encoding="utf-8", errors="backslashreplace") as file:
                    _write(output.name, result, files, shown, file)
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise SettingsError(
                    tr("%(path)s: cannot be written: %(why)s", path=output.file, why=why)
                ) from None


def _write(name: str, result: Result, files: FileSet, shown: Shown, file: TextIO) -> None:
    if name in ("text", "json"):
        module = importlib.import_module(f"..{name}_report", __package__)
        options = {"strict": shown.strict, "statistics": shown.statistics, "quiet": shown.quiet, "file": file}
        module.render(result, files, **options)
        return
    module = importlib.import_module(f".{name}", __package__)
    given = {"strict": shown.strict, "paths": shown.paths} if name == "agent" else {}
    for line in module.lines(result, files, **given):
        print(line, file=file)
