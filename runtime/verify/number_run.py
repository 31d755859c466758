"""The numbers part: a small world on CPUs, the stages against the original."""

from __future__ import annotations

import math
from functools import partial

from ..process_groups import free_port
from .dryrun import role
from .overrides import small
from .plan import Plan
from .processes import run
from .results import Finding, Result, merged
from .shape_run import preload, take
from .smallrun import rank_of_world

_LOST = (
    "waits for a rank",
    "Connection closed by peer",
    "Connection reset by peer",
    "remote worker crashing",
    "at a comparison of this command",
)
_ORDER = (
    "usage",
    "crash",
    "data",
    "parameters",
    "numbers",
    "gradient",
    "boundary",
    "start",
    "replicas",
    "hang",
)
_PASSES = 8  # forward and backward of the original, the stages, and both in three steps
_SPEED = 1e10  # operations of one thread in a second


def verify_numbers(plan: Plan, asked: dict | None = None) -> Result:
    """Compare outputs, loss, gradients and three steps; then the tensor-parallel ranks with each other.

    `asked` is what the shapes part found out of the original, if it ran before.
    """
    result = Result("numbers", f"{plan.tp}x{plan.pp}")
    known, overrides = _sizes(plan, result, asked)
    if "num_stages" not in known:
        result.findings = merged(result.findings)
        return result
    result.facts["sizes"] = overrides
    if plan.pp > known["num_stages"]:
        result.findings.append(
            Finding("usage", f"{known['num_stages']} stages cannot fill {plan.pp} pipeline ranks: lower --pp")
        )
        return result
    if "input" not in known:
        why = known.get("refused", "no original was found")
        result.findings.append(
            Finding(
                "usage",
                f"numbers are not compared: what the original takes could not be told ({why[:200]}): give --input or "
                f"--original",
            )
        )
        return result
    too_much = _too_much(plan, known)
    if too_much:
        result.findings.append(Finding("usage", too_much))
        return result
    port = free_port()
    works = [
        partial(rank_of_world, plan, rank, port, known, overrides) for rank in range(plan.tp * plan.parts)
    ]
    before = len(result.findings)
    for rank, outcome in enumerate(run(works, plan.limit, plan.memory, together=True)):
        value = take(result, outcome, plan, None, rank)
        if rank == 0:
            result.facts |= value.get("facts", {})
            result.types = value.get("types", {})
    found = merged(result.findings[before:])
    # A rank that waits for one that failed, or loses it, is no fault of its own.
    own = [f for f in found if not any(words in f.message for words in _LOST)]
    found = own or found
    result.findings[before:] = sorted(
        found, key=lambda f: _ORDER.index(f.kind) if f.kind in _ORDER else len(_ORDER)
    )
    result.notes = list(dict.fromkeys(result.notes))
    return result


def _sizes(plan: Plan, result: Result, asked: dict | None) -> tuple[dict, dict[str, object]]:
    """The first small sizes with which the original runs; else the sizes of the configuration."""
    first = Result("numbers", result.layout)
    if asked is None:
        [outcome] = run([partial(role, plan, 0, plan.overrides, only_original=True)], plan.limit, plan.memory)
        asked = take(first, outcome, plan, None, 0).get("known", {})
        preload(asked.get("modules", ()))
    files = asked.get("files")
    if plan.stages and not plan.original and "input" in asked:
        return asked, plan.overrides
    if not files:
        result.findings += first.findings
        result.notes += first.notes
        return asked, plan.overrides
    why = ""
    for padded, own_windows in ((True, False), (False, False), (False, True)):
        overrides = small(files, padded, plan.tp, own_windows) | plan.overrides
        if overrides == plan.overrides:
            break
        [outcome] = run([partial(role, plan, 0, overrides, only_original=True)], plan.limit, plan.memory)
        known = take(Result("numbers", ""), outcome, plan, None, 0).get("known", {})
        if "input" in known:
            return known, overrides
        why = str(known.get("refused", why))
    result.notes += first.notes
    overrides = small(files, False, plan.tp) | plan.overrides
    for key in sorted(set(overrides) - set(plan.overrides)):
        rest = {name: value for name, value in overrides.items() if name != key}
        [outcome] = run([partial(role, plan, 0, rest, only_original=True)], plan.limit, plan.memory)
        known = take(Result("numbers", ""), outcome, plan, None, 0).get("known", {})
        if "input" in known:
            result.notes.append(
                f"{key} keeps its size: with a smaller one the original refuses ({why[:300]})"
            )
            return known | {"kept_size": key}, rest
    if why:
        result.notes.append(
            f"the original refuses small sizes ({why[:200]}): its own are taken, or give them with --set"
        )
    return asked, plan.overrides


def _too_much(plan: Plan, known: dict) -> str:
    """Why the sizes are too large to compute, in words; "" if they are not."""
    flops, kept = known.get("flops", 0), known.get("kept", 0)
    seconds = 3 * _PASSES * flops / _SPEED
    gigabytes = 2 * kept / 2**30  # the stages', and the original's
    if seconds <= plan.limit and gigabytes <= plan.memory:
        return ""
    fixed = known.get("kept_size", "")
    what = f"{fixed} cannot be made smaller, and at its size" if fixed else "at these sizes"
    return (
        f"numbers are not computed: {what} the comparison takes about {seconds:.0f} s and {gigabytes:.1f} GiB for "
        f"each process. Make it smaller with --set, or allow --limit {math.ceil(2 * seconds)} --memory "
        f"{math.ceil(1.5 * gigabytes)}"
    )
