"""`shapes` and `numbers` as functions."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from . import forkserver
from .plan import Plan
from .results import Result


def shapes(script: str | Path | Plan, **options) -> Result:
    """Dry run of every distinct rank on the meta device.

    Args:
        script: training script by the guide, or a Plan.
        options: fields of `Plan`: tp, pp, dp, original, overrides, …
    """
    return _apart(script, "shapes", options)


def numbers(script: str | Path | Plan, **options) -> Result:
    """The distributed model against its original, computed in small on CPUs.

    Args:
        script: training script by the guide, or a Plan.
        options: fields of `Plan`: tp, pp, dp, original, overrides, …
    """
    return _apart(script, "numbers", options)


def verify(script: str | Path | Plan, parts: Sequence[str], **options) -> list[Result]:
    """Several parts, "shapes" and "numbers", of one target; see the functions of these names.

    The processes are forked from this one, so it must not have computed anything with torch.
    """
    plan = _plan(script, options)
    preload()
    from .number_run import verify_numbers
    from .shape_run import verify_shapes

    results = []
    known: dict | None = None
    if "shapes" in parts:
        results.append(verify_shapes(plan))
        known = results[-1].known or None
    if "numbers" in parts:
        results.append(verify_numbers(plan, known))
    return results


def _apart(script: str | Path | Plan, part: str, options: dict) -> Result:
    """One part, from within any program."""
    plan = _plan(script, options)
    [result] = forkserver.call(verify, plan, (part,))
    return result


def preload() -> None:
    """Import torch and Megatron once: the processes that run the user's code are forked from this one.

    Raises:
        UserError: one of them is not installed.
    """
    try:
        for name in (
            "torch",
            "torch.distributed",
            "torch.utils.flop_counter",
            "torch.testing._internal.distributed.fake_pg",
            "megatron.core",
            "megatron.core.parallel_state",
            "megatron.core.tensor_parallel",
            "megatron.core.transformer",
        ):
            importlib.import_module(name)
        # torch asks for the module of every operator that the user's code defines, and the first to ask waits while
        # the places of all modules are looked up.
        inspect.getmodule(preload.__code__)
    except ModuleNotFoundError as error:
        raise UserError(
            f"verify needs {error.name}, which is not installed: pip install 'onescience-check[runtime]'"
        ) from error


def _plan(script: str | Path | Plan, options: dict) -> Plan:
    if isinstance(script, Plan):
        return script
    path = Path(script).absolute()
    if not path.is_file():
        raise UserError(f"{script}: no such file")
    if "original" not in options or "roots" not in options:
        # Only to read where things are; a plan that says so itself does not need the checkers.
        target = importlib.import_module("onescience_check.checkers.report.target").find(path)
        options = {"original": target.original, "roots": target.roots, "renamed": target.renamed} | options
    return Plan(str(path), **options)
