"""The `onescience-check` command: options, progress, exit code."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..finding import Finding, Result
from ..settings import Settings, SettingsError, load_settings, sizes, words

CLEAN, FOUND, FAILED = 0, 1, 2

app = typer.Typer(
    name="onescience-check",
    help="Find tensor- and pipeline-parallel mistakes in PyTorch code before the job starts; nothing of it is run.",
    epilog="`onescience-check [PATHS]` is short for `onescience-check check [PATHS]`; its options: check --help. "
    "Exit code: 0 clean, 1 findings, 2 something could not be checked.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)


class Format(str, Enum):
    """How the result is printed."""

    text = "text"
    json = "json"


class ReportFormat(str, Enum):
    """How the report is printed."""

    text = "text"
    markdown = "markdown"
    json = "json"


Names = Annotated[str, typer.Option(metavar="NAMES", help="Symbols, ids or beginnings of ids: E71,W7103.")]


@app.command()
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; the current folder if none.")
    ] = None,
    *,
    format: Annotated[Format, typer.Option(help="How the result is printed.")] = Format.text,
    select: Names = "",
    ignore: Names = "",
    fail_on: Annotated[
        str, typer.Option(metavar="IDS", help="Beginnings of ids that make the exit code 1.")
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="List what could not be decided, and fail on it.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count the findings of each rule.")
    ] = False,
    tp: Annotated[
        str, typer.Option(metavar="SIZES", help="Tensor-parallel sizes that must work: 1,2,4,8.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
) -> None:
    """Check files and folders (this is what `onescience-check [PATHS]` does)."""
    given = paths or [Path()]
    options: dict[str, Any] = {
        "select": words(select),
        "ignore": words(ignore),
        "fail_on": words(fail_on),
        "tp": _sizes(tp) if tp else (),
        "jobs": jobs if jobs > 1 else 0,
    }
    settings = replace(
        load_settings(given[0].absolute()), **{key: value for key, value in options.items() if value}
    )
    raise typer.Exit(_check(given, settings, format, strict, statistics))


@app.command()
def report(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders of the model; the current folder if none.")
    ] = None,
    *,
    format: Annotated[ReportFormat, typer.Option(help="How the report is printed.")] = ReportFormat.text,
    tp: Annotated[
        str, typer.Option(metavar="SIZES", help="Tensor-parallel sizes that must work: 1,2,4,8.")
    ] = "",
) -> None:
    """Fill in the checklists and tables of the guide for each distributed model, before it is merged.

    The project around the paths is read as a whole. Exit code: 0 all models ready, 1 one is not or nothing was found,
    2 something could not be read.
    """
    given = paths or [Path()]
    settings = load_settings(given[0].absolute())
    raise typer.Exit(_report(given, replace(settings, tp=_sizes(tp)) if tp else settings, format))


@app.command()
def explain(
    symbol: Annotated[str, typer.Argument(help="Symbol or id of a rule, or the beginning of ids: E71.")],
) -> None:
    """Say why a rule exists, with a bad and a good example, and what happens at run time."""
    from ..selection import find_rules
    from .explanation import print_explanation, print_rules

    found = find_rules(symbol)
    if len(found) == 1:
        print_explanation(found[0])
    else:
        print_rules(found)


@app.command()
def rules() -> None:
    """List all rules."""
    from .explanation import print_rules

    print_rules()


@app.command()
def version() -> None:
    """Print the version."""
    from .json_report import tool_name

    print(tool_name())


def main() -> None:
    """Entry point of the console script. Whatever happens, the user sees one clear line and never a traceback."""
    arguments = sys.argv[1:]
    commands = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    if not arguments or arguments[0] not in {*commands, "--help"}:
        arguments.insert(0, "check")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    gc.disable()  # syntax trees hold no cycles, and the process ends soon: collecting would double the run time
    try:
        try:
            app(arguments, prog_name="onescience-check")
        finally:
            sys.stdout.flush()  # here, and not while Python shuts down, a closed pipe can be dealt with
    except SettingsError as error:
        _say(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        _say("interrupted")
    except Exception as error:
        _say(_internal_error(error))
    sys.exit(FAILED)


def _check(paths: Sequence[Path], settings: Settings, format: Format, strict: bool, statistics: bool) -> int:
    from ..engine import run
    from ..files.discovery import FileSet
    from ..selection import failing, selected_rules

    fails = failing(settings)
    selected_rules(settings)  # an unknown name is refused before any file is read
    with _progress() as progress:
        files = FileSet.gather(paths, settings)
        result = run(paths, settings, progress, files)
    if format is Format.json:
        from .json_report import render
    else:
        from .text_report import render
    for path in files.unusable:
        _say(f"{path.path}: {path.reason}")
    render(result, files, strict=strict, statistics=statistics)
    broken = [skip for skip in result.skipped if skip.reason.startswith("internal error")]
    for skip in broken:
        _say(
            f"{skip.path}: {skip.reason}; the rest was checked; please report it to the project with this line"
        )
    if files.unusable or broken:
        return FAILED
    return FOUND if _is_failing(result, fails, strict) else CLEAN


def _report(paths: Sequence[Path], settings: Settings, format: ReportFormat) -> int:
    from ..report.build import make_report

    for path in paths:
        if not path.exists():
            raise SettingsError(f"{path}: no such file or folder")
    with _progress() as progress:
        made = make_report(paths, settings, progress)
    if format is ReportFormat.json:
        from .report_json import render
    elif format is ReportFormat.markdown:
        from .report_markdown import render
    else:
        from .report_text import render
    render(made)
    return CLEAN if made.models and all(model.ready for model in made.models) else FOUND


def _is_failing(result: Result, fails: set[str], strict: bool) -> bool:
    counted: list[Finding] = result.findings + (result.undecided if strict else [])
    return any(finding.symbol in fails for finding in counted)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return sizes(text)
    except (TypeError, ValueError):
        raise typer.BadParameter(f"{text!r}: write sizes such as 1,2,4,8", param_hint="--tp") from None


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on standard error while it is a terminal, and nothing otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading files", total=None)
        yield lambda step, done, total: bar.update(task, description=step, completed=done, total=total)


def _internal_error(error: Exception) -> str:
    """One line for a fault of ours; what a report of it needs is kept in a file."""
    kept = Path(tempfile.gettempdir()) / f"onescience-check-error-{os.getpid()}.txt"
    try:
        kept.write_text("".join((*sys.argv, "\n\n", *traceback.format_exception(error))), "utf-8")
    except OSError:
        kept = Path("(could not be written)")
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"internal error: {text}; please report it to the project with {kept}"


def _say(text: str) -> None:
    print(f"onescience-check: {text}", file=sys.stderr)
