"""`onescience-check verify`: the one command that runs the user's code. Torch is imported here and nowhere else."""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..settings import SettingsError
from .lang import Lang
from .streams import say, working_folder
from .verify_words import said

if TYPE_CHECKING:
    from ..report.target import Target

_CLEAN, _FOUND, _FAILED = 0, 1, 2
_RUNTIME = "onescience_check.runtime.verify"
_STAGE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class VerifyFormat(str, Enum):
    """How the result is printed."""

    text = "text"
    json = "json"


def verify(
    target: Annotated[
        str, typer.Argument(help="Training script by the guide; or MODULE:CLASS of the first stage.")
    ],
    script_args: Annotated[
        list[str] | None,
        typer.Argument(help="MODULE:CLASS of the other stages; flags for the script itself, behind `--`."),
    ] = None,
    *,
    tp: Annotated[int, typer.Option(min=1, metavar="N", help="Tensor-parallel size.")] = 2,
    pp: Annotated[int, typer.Option(min=1, metavar="N", help="Pipeline-parallel size.")] = 1,
    dp: Annotated[int, typer.Option(min=1, metavar="N", help="Data-parallel size.")] = 1,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Also compute in small on CPUs, against the original.")
    ] = False,
    numbers_only: Annotated[bool, typer.Option("--numbers-only", help="Only that.")] = False,
    original: Annotated[
        str, typer.Option(metavar="MODULE:CLASS", help="The original model, where it is not found.")
    ] = "",
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Handed to the script as its own --config.")
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A value of the script's YAML file.")
    ] = None,
    input: Annotated[
        str, typer.Option(metavar="SIZES", help="Shape of one micro-batch: 1,72,721,1440.")
    ] = "",
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=MODULE", help="An imported name that another module serves."),
    ] = None,
    stub: Annotated[
        list[str] | None, typer.Option(metavar="MODULE", help="A module that need not be there.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML table from names in the stages to the original's."),
    ] = None,
    limit: Annotated[
        float, typer.Option(min=1, metavar="N", help="Seconds that one process may take.")
    ] = 120,
    memory: Annotated[float, typer.Option(min=0.5, metavar="N", help="GiB that one process may take.")] = 12,
    format: Annotated[
        VerifyFormat, typer.Option(metavar="text|json", help="How the result is printed.")
    ] = VerifyFormat.text,
    lang: Lang = None,
) -> None:
    """Run the model of a training script in small and dry, and hold it against its original. THIS RUNS YOUR CODE.

    Without more, every distinct rank is run on the meta device: shapes, gradients, parameters, collectives and costs;
    no GPU and no data are needed. Exit code: 0 clean, 1 findings, 2 it could not be run.
    """
    working_folder()
    gc.enable()  # models hold cycles
    stages: tuple[str, ...] = ()
    if _STAGE.fullmatch(target):
        stages = (target, *(word for word in script_args or () if _STAGE.fullmatch(word)))
        script_args = [word for word in script_args or () if word not in stages]
    elif not os.path.isfile(target):
        raise SettingsError(f"{target}: no such file")
    options: dict[str, Any] = {
        "stages": stages,
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "limit": limit,
        "memory": memory,
        "stubs": tuple(stub or ()),
        "aliases": dict(_pair(text, "--alias") for text in alias or ()),
        "input_shape": _shape(input),
        "script_args": (*(("--config", str(config.absolute())) if config else ()), *(script_args or ())),
        "names": _table(names),
    }
    parts = ["numbers"] if numbers_only else ["shapes", *(["numbers"] if numbers else [])]
    raise typer.Exit(_run(Path(target), original, options, set or (), parts, format))


def _run(
    target: Path,
    original: str,
    options: dict[str, Any],
    settings: Sequence[str],
    parts: Sequence[str],
    format: VerifyFormat,
) -> int:
    from ..report.target import find, find_stages

    runtime = _runtime()
    try:
        options["overrides"] = dict(runtime.parse_setting(text) for text in settings)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None
    found = find_stages(options["stages"]) if options["stages"] else find(target)
    plan = runtime.Plan(
        str(found.script),
        original=original or found.original,
        roots=found.roots,
        renamed=found.renamed,
        **options,
    )
    try:
        results = runtime.verify(plan, parts)
    except runtime.UserError as error:
        raise SettingsError(said(str(error))) from None
    for result in results:
        result.notes += _contradicted(result.types, found)
        if not (options["stages"] or options["overrides"] or options["script_args"]):
            _hold_costs(result, found.script, options["tp"])
    if format is VerifyFormat.json:
        from .json_report import tool_name

        document = {"version": 1, "tool": tool_name(), "parts": [result.as_dict() for result in results]}
        print(json.dumps(document, indent=2, default=str))
    else:
        from .verify_text import render

        for result in results:
            render(result)
    unusable = [finding for result in results for finding in result.findings if finding.kind == "usage"]
    for finding in unusable:
        say(said(finding.message))
    if unusable:
        return _FAILED
    return _CLEAN if all(result.ok for result in results) else _FOUND


def _contradicted(types: dict[str, str], target: Target) -> list[str]:
    """Where reading takes the input of a parallel layer for something else than a run shows: a fault of ours."""
    from ..report.inputs import input_types

    if not types:
        return []
    folders = dict.fromkeys(Path(place.rpartition(":")[0]).parent for place in types)
    read = input_types([*folders, target.script.parent])
    return [
        f"{place}: reading takes what this layer is given for {read[place]}, and the run shows it {seen}: a fault of "
        "this tool, please report it"
        for place, seen in types.items()
        if read.get(place, seen) != seen
    ]


def _hold_costs(result: Any, script: Path, tp: int) -> None:
    """Beside the traced work of the stages that which reading estimates, and where the two disagree."""
    from ..report.balance_table import TOLERANCE
    from ..report.read_costs import read_shares

    traced = {row.stage: row.share for row in result.figures}
    read = read_shares(script, tp) if traced else ()
    if len(read) != len(traced):
        return
    result.facts["of the mean, by reading"] = ", ".join(f"{share:.0%}" for share in read)
    apart = [
        f"stage {number}: {share:.0%}, traced {traced[number]:.0%}"
        for number, share in enumerate(read)
        if abs(share - traced[number]) > TOLERANCE
    ]
    if apart:
        result.facts[
            "reading and trace disagree, by layers that are no blocks or by a fault of this tool (please report it)"
        ] = "; ".join(apart)


def _runtime() -> Any:
    try:
        return importlib.import_module(_RUNTIME)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"verify needs {error.name}, which is not installed: pip install 'onescience-check[runtime]'"
        ) from None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name and value):
        raise typer.BadParameter(f"{text!r}: write NAME=MODULE", param_hint=option)
    return name, value


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace(" ", "").split(",") if part)
    except ValueError:
        raise typer.BadParameter(f"{text!r}: write sizes such as 1,72,48,96", param_hint="--input") from None


def _table(path: Path | None) -> dict[str, str]:
    from ..project.yaml_config import read_yaml

    if path is None:
        return {}
    read = read_yaml(path)
    if read.problem or not isinstance(read.data, dict):
        raise SettingsError(f"{path}: {read.problem or 'it must hold a mapping of names'}")
    return {str(key): str(value) for key, value in read.data.items()}
