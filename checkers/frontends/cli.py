"""The `onescience-check` command: options, progress, exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..finding import FAULT, Finding, Result
from ..language import of_locale, tr, use
from ..settings import Settings, SettingsError, words
from .baseline_command import baseline
from .cache_command import cache
from .diagnose_command import diagnose
from .exits import CLEAN, FAILED, FOUND
from .fix_command import fix
from .formats.outputs import Shown, outputs, write
from .lang import Lang, asks_for_help
from .new_command import new
from .past import Past
from .project import cores, settings_of
from .report_command import report, tp_sizes
from .server_command import server
from .streams import (
    drop_output,
    internal_error,
    not_written,
    prepare,
    progress,
    say,
    visible,
    with_input,
    working_folder,
)
from .verify_command import verify

app = typer.Typer(
    name="onescience-check",
    help="Find tensor- and pipeline-parallel mistakes in PyTorch code before the job starts. Nothing of it is run, "
    "but by `verify`.",
    epilog="`onescience-check [PATHS]` is short for `onescience-check check [PATHS]`; its options: check --help. "
    "Exit code: 0 clean, 1 findings, 2 something could not be checked.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Names = Annotated[str, typer.Option(metavar="NAMES", help="Symbols, ids or beginnings of ids: E71,W7103.")]


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files and folders; the current folder if none; - for standard input."),
    ] = None,
    *,
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:FILE]",
            help="text, agent, json, sarif, github, gitlab, junit, markdown or html; several, each to its file.",
        ),
    ] = None,
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
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes to use; as many as there are cores, at most four."),
    ] = None,
    max_findings: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Show no more findings than this, the most harmful first."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Findings only, without the figures below them.")
    ] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit code 0 also with findings.")] = False,
    changed_since: Annotated[
        str,
        typer.Option(
            metavar="REV", help="Only what changed since a git revision, and what that causes elsewhere."
        ),
    ] = "",
    no_baseline: Annotated[
        bool, typer.Option("--no-baseline", help="Show findings that the baseline accepts, too.")
    ] = False,
    strict_baseline: Annotated[
        bool,
        typer.Option("--strict-baseline", help="Fail on entries of the baseline that are no longer found."),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither use nor keep answers of earlier runs.")
    ] = False,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", help="Run no rules of the project, whatever its settings name.")
    ] = False,
    stdin_filename: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Check standard input as the text of this file.")
    ] = None,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Print the settings that apply, and check nothing.")
    ] = False,
    lang: Lang = None,
) -> None:
    """Check files and folders (this is what `onescience-check [PATHS]` does)."""
    working_folder()
    shown = Shown(
        outputs(format or ()),
        strict,
        statistics,
        quiet,
        is_chosen=lang is not None,
        paths=tuple(map(str, paths or [Path()])),
        most=max_findings or 0,
    )
    given, edited = with_input(paths or [], stdin_filename)
    options: dict[str, Any] = {
        "select": words(select),
        "ignore": words(ignore),
        "fail_on": words(fail_on),
        "tp": tp_sizes(tp) if tp else (),
        "jobs": jobs or 0,
    }
    settings = replace(
        settings_of(given[0].absolute(), with_plugins=not no_plugins),
        **{key: value for key, value in options.items() if value},
    )
    settings = replace(settings, jobs=settings.jobs or cores())
    if show_settings:
        print("\n".join(visible(line) for line in settings.lines()))
        raise typer.Exit(CLEAN)
    past = Past(given, settings, changed_since, use_baseline=not no_baseline, strict=strict_baseline)
    code = _check(given, settings, shown, edited, past, not no_cache)
    raise typer.Exit(CLEAN if exit_zero and code == FOUND else code)


app.command()(report)
app.command()(fix)
app.command()(baseline)
app.command()(cache)
app.command()(server)


@app.command()
def explain(
    symbol: Annotated[
        str,
        typer.Argument(
            help="Symbol or id of a rule, or the beginning of ids: E71; or `placements`: the types behind 71xx."
        ),
    ],
    *,
    lang: Lang = None,
) -> None:
    """Say why a rule exists, with a bad and a good example, and what happens at run time."""
    from ..selection import find_rules
    from .explanation import print_explanation, print_rules
    from .lesson import print_placements

    settings_of(Path.cwd())

    if symbol == "placements":
        print_placements()
        return
    found = find_rules(symbol)
    if len(found) == 1:
        print_explanation(found[0])
    else:
        print_rules(found)


@app.command()
def rules(*, lang: Lang = None) -> None:
    """List all rules."""
    from .explanation import print_rules

    settings_of(Path.cwd())
    print_rules()


app.command()(diagnose)
app.command()(verify)
app.command()(new)


@app.command()
def version() -> None:
    """Print the version."""
    from .json_report import tool_name

    print(tool_name())


def main() -> None:
    """Entry point of the console script. Whatever happens, the user sees one clear line and never a traceback."""
    prepare()
    use(of_locale())
    arguments = ["version"] if sys.argv[1:] == ["--version"] else sys.argv[1:]
    commands = {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
    ahead = 2 if arguments[:1] == ["--lang"] else int("".join(arguments[:1]).startswith("--lang="))
    if 0 < ahead < len(arguments) and arguments[ahead] in commands:  # `--lang zh baseline`
        arguments.insert(0, arguments.pop(ahead))
    if not arguments or arguments[0] not in {*commands, "--help", "-h"}:
        arguments.insert(0, "check")
    gc.disable()  # the process ends soon: collecting would double the run time
    atexit.register(gc.freeze)  # nor is anything looked through at the end, when all of it goes
    try:
        try:
            if asks_for_help(arguments):
                from .help import print_help

                print_help(app, arguments)
                sys.exit(CLEAN)
            app(arguments, prog_name="onescience-check")
        finally:
            sys.stdout.flush()  # here, and not while Python shuts down, a closed pipe can be dealt with
    except SettingsError as error:
        say(str(error))
    except BrokenPipeError:
        drop_output()
    except KeyboardInterrupt:
        say("interrupted")
    except Exception as error:
        reason = not_written(error) if isinstance(error, OSError) else ""
        if reason:
            drop_output()
        say(reason or internal_error(error))
    sys.exit(FAILED)


def _check(
    paths: Sequence[Path],
    settings: Settings,
    shown: Shown,
    edited: Mapping[Path, bytes],
    past: Past,
    is_cached: bool,
) -> int:
    from ..cache.answer import answer

    with progress() as step:
        asked = () if past.is_idle else paths
        found = answer(asked, settings, step, edited, is_cached=is_cached)
        files, result = found.files, past.without_old(found.result, found.files)
    for path in files.unusable:
        say(tr("%(path)s: %(reason)s", path=path.path, reason=path.reason))
    write(result, files, shown)
    is_open = shown.strict and shown.has_text and _list_open(paths, settings)
    broken = [skip for skip in result.skipped if skip.is_fault]
    for skip in broken:
        said = "%(path)s: %(reason)s; the rest was checked; please report it to the project with this line"
        if skip.reason.startswith(FAULT):
            said = "%(path)s: %(reason)s; the rest was checked"
        say(tr(said, path=skip.path, reason=skip.reason))
    if files.unusable or broken:
        return FAILED
    return FOUND if is_open or past.fails(result) or _fails(result, settings, shown.strict) else CLEAN


def _list_open(paths: Sequence[Path], settings: Settings) -> bool:
    """Print the lines of the report that could not be decided; whether there are any."""
    from ..report.build import make_report
    from .report_text import open_lines

    made = make_report([path for path in paths if os.path.exists(path)], settings, always=False)
    lines = list(open_lines(made))
    for line in lines:
        print(visible(line))
    return bool(lines)


def _fails(result: Result, settings: Settings, strict: bool) -> bool:
    from ..selection import is_failing

    counted: list[Finding] = result.findings + (result.undecided if strict else [])
    return any(is_failing(finding, settings) for finding in counted)
