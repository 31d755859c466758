"""Standard input, output and error of the command, whatever they are connected to."""

from __future__ import annotations

import dataclasses
import enum
import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from ..language import local, localized, tr
from ..settings import SettingsError

_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def prepare() -> None:
    """Give a closed stream (`>&-`) somewhere to write, and let none fail over a character it cannot encode."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Nobody reads on, or nothing can be written: leave nothing that Python would write while it shuts down."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """One line on standard error."""
    with suppress(OSError):
        print(f"onescience-check: {visible(local(text))}", file=sys.stderr)


def not_written(error: OSError) -> str:
    """Why the output cannot be written; empty where the error comes from elsewhere."""
    if error.filename is not None or error.errno not in _NOT_WRITTEN:
        return ""
    return tr("the result cannot be written: %(reason)s", reason=(error.strerror or str(error)).lower())


def working_folder() -> None:
    """Raises SettingsError where the working folder is gone: no path means anything then."""
    try:
        os.getcwd()
    except OSError as error:
        text = (error.strerror or str(error)).lower()
        raise SettingsError(tr("the working folder cannot be used: %(text)s", text=text)) from None


def existing(paths: Iterable[Path]) -> None:
    """Raises SettingsError for the first path that is not there."""
    for path in paths:
        if not os.path.exists(path):
            raise SettingsError(tr("%(path)s: no such file or folder", path=path))


def _standard_input() -> bytes:
    """All of it; nothing where it is closed."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def with_input(paths: Sequence[Path], name: Path | None) -> tuple[list[Path], dict[Path, bytes]]:
    """The paths to check, and the text of the one that standard input stands for."""
    others = [path for path in paths if str(path) != "-"]
    if name is None:
        if len(others) != len(paths):
            raise typer.BadParameter(
                local("write also --stdin-filename PATH, the file it is the text of"), param_hint="-"
            )
        return others or [Path()], {}
    return [name, *others], {Path(os.path.abspath(name)): _standard_input()}


def internal_error(error: Exception) -> str:
    """One line for a fault of ours; what a report of it needs is kept in a new file that only the user can read."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    try:
        handle, kept = tempfile.mkstemp(prefix="onescience-check-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join((*sys.argv, "\n\n", *traceback.format_exception(error))))
    except OSError:
        return tr("internal error: %(text)s; please report it to the project with this line", text=text)
    return tr("internal error: %(text)s; please report it to the project with %(kept)s", text=text, kept=kept)


def visible(text: str) -> str:
    """Text of checked files as it may be shown: what steers a terminal, or begins a new line, is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible_fields(data: Any) -> Any:
    """`data` with every text of it, in dataclasses and tuples of any depth, as it may be shown; line breaks stay.

    What `tr` made is in the language of the reader then.
    """
    if isinstance(data, str) and not isinstance(data, enum.Enum):
        return "\n".join(map(visible, localized(data).split("\n")))
    if isinstance(data, tuple):
        return tuple(map(visible_fields, data))
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return dataclasses.replace(
            data, **{f.name: visible_fields(getattr(data, f.name)) for f in dataclasses.fields(data)}
        )
    return data


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on standard error while it is a terminal, and nothing otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(local("reading files"), total=None)
        yield lambda step, done, total: bar.update(task, description=local(step), completed=done, total=total)
