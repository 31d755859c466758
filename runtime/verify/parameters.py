"""Names and shapes of the parameters of all ranks together, against the original's."""

from __future__ import annotations

import math

from torch import nn

from . import matching
from .plan import Plan
from .results import Finding
from .tracking import Tracker


def compare(plan: Plan, firsts: dict[int, dict], known: dict) -> list[Finding]:
    """Names and shapes of all stages together against the original's."""
    wanted = known.get("parameters")
    if not wanted or any("parameters" not in value for value in firsts.values()):
        return []
    found: list[Finding] = []
    seen: set[str] = set()
    total = 0
    unknown: list[tuple[int, str]] = []
    for number, value in firsts.items():
        names = matching.originals(value["parameters"], wanted, plan.names)
        total += len(value["parameters"])
        for name, (shape, dim) in value["parameters"].items():
            cls, built, around = value["owners"][name]
            place = next((p for p in (built, *around) if p[0]), ("", 0))
            other = names.get(name)
            if other is None:
                unknown.append((number, name))
                continue
            seen.add(other)
            whole = matching.whole_shape(shape, dim, plan.tp)
            if whole == wanted[other]:
                found += _saved(value, number, name, whole, plan, cls, place, around)
                continue
            cut = matching.cut_dimension(shape, wanted[other], plan.tp)
            if dim is None and cut is not None:
                text = (
                    f"{name} {list(shape)} is a shard of {list(wanted[other])} and is not marked as one "
                    "(tensor_model_parallel): checkpoints and gradient norms take it for a whole"
                )
                rule = "sharded-parameter-unmarked"
            elif dim is not None and cut is not None and plan.tp > 1:
                text = f"{name} {list(shape)} is marked as cut in dimension {dim}, but it is cut in dimension {cut}"
                rule = "sharded-parameter-unmarked"
            else:
                text = f"{name} is {list(whole)} over all ranks, but {list(wanted[other])} in the original"
                rule = "parallel-linear-width-mismatch"
            module = name.rpartition(".")[0]
            found.append(
                Finding("parameters", text, number, (0,), module, cls, "", *place, rule, (), tuple(around))
            )
    if total and len(unknown) > 0.5 * total:
        return [
            Finding(
                "parameters",
                f"{len(unknown)} of {total} parameter names are not the original's, {unknown[0][1]} first: "
                "a checkpoint of the original cannot be loaded. Give a naming table with --names to compare the rest",
                unknown[0][0],
                path=firsts[unknown[0][0]]["root"][0],
                line=firsts[unknown[0][0]]["root"][1],
            )
        ]
    found += _without_counterpart(firsts, unknown, wanted)
    missing = [name for name in wanted if name not in seen]
    groups: dict[str, list[str]] = {}
    for name in missing:
        groups.setdefault(name.split(".")[0], []).append(name)
    for head, names in groups.items():
        number = _holder(firsts, head)
        near = firsts[number].get("near", {}).get(names[0], ())
        place = next(iter(near), firsts[number]["root"])
        text = f"no stage has {names[0]}" + (f" and {len(names) - 1} more of {head}" if names[1:] else "")
        around = (*near, *(value["root"] for value in firsts.values() if value["root"][0]))
        found.append(
            Finding(
                "parameters",
                text,
                number,
                (),
                head,
                "",
                "",
                *place,
                "depth-differs-from-original",
                (),
                around,
            )
        )
    return found


def nearest(tracker: Tracker, stage: nn.Module, wanted: dict) -> dict[str, tuple]:
    """Of the original's parameters that are not here: the places of the innermost module on their way that is.

    A list of blocks that is too short was told its length from outside: then none.
    """
    own, modules = dict(stage.named_parameters()), dict(stage.named_modules())
    found = {}
    for name in wanted:
        if name not in own:
            path = name.rpartition(".")[0]
            while path and path not in modules:
                path = path.rpartition(".")[0]
            if path and not isinstance(modules[path], nn.ModuleList | nn.ModuleDict | nn.Sequential):
                found[name] = path
    places = {path: tracker.places_around(stage, path) for path in set(found.values())}
    return {name: places[path] for name, path in found.items()}


def lost(firsts: dict[int, dict], on_one_rank: int | None) -> list[Finding]:
    """What one class for all stages holds on one rank, and no stage of the pipeline."""
    shapes = [shape for value in firsts.values() for shape, _ in value.get("parameters", {}).values()]
    held = sum(math.prod(shape) for shape in shapes)
    if (
        on_one_rank is None
        or held >= on_one_rank
        or any("parameters" not in value for value in firsts.values())
    ):
        return []
    text = (
        f"the {len(firsts)} stages hold {held:,} parameters together, and the model on one rank {on_one_rank:,}: some "
        "layers are in no stage"
    )
    return [
        Finding("parameters", text, None, (0,), "", "", "", *firsts[0]["root"], "layer-split-drops-remainder")
    ]


def _without_counterpart(
    firsts: dict[int, dict], unknown: list[tuple[int, str]], wanted: dict
) -> list[Finding]:
    """One finding for each module, or whole block, that the original does not have."""
    known = {".".join(name.split(".")[:end]) for name in wanted for end in range(1, name.count(".") + 1)}
    groups: dict[tuple[int, str], list[str]] = {}
    for number, name in unknown:
        parts = name.split(".")
        end = next(
            (end for end in range(1, len(parts)) if ".".join(parts[:end]) not in known), len(parts) - 1
        )
        groups.setdefault((number, ".".join(parts[:end])), []).append(name)
    found = []
    for (number, module), names in groups.items():
        cls, built, around = firsts[number]["owners"][names[0]]
        place = next((place for place in (built, *around) if place[0]), ("", 0))
        text = f"{names[0]} has no counterpart in the original"
        if names[1:]:
            more = f"{len(names) - 1} more parameters of {module}"
            text = f"{names[0]} and {more} have no counterpart in the original"
        cls = cls if module == names[0].rpartition(".")[0] else ""
        found.append(
            Finding(
                "parameters",
                text,
                number,
                (0,),
                module,
                cls,
                "",
                *place,
                "differs-from-original",
                (),
                tuple(around),
            )
        )
    return found


def _saved(value, number, name, whole, plan, cls, place, around) -> list[Finding]:
    """What the stage's distributed checkpoint says of a parameter."""
    saved = value.get("saved") or {}
    if plan.tp == 1 or name not in saved or saved[name] == whole:
        return []
    text = (
        f"sharded_state_dict saves {name} as {list(saved[name])}, but all ranks together hold {list(whole)}"
    )
    module = name.rpartition(".")[0]
    places = (value["root"], *around)
    return [
        Finding(
            "checkpoint",
            text,
            number,
            (0,),
            module,
            cls,
            "",
            *place,
            "sharded-parameter-unmarked",
            (),
            tuple(places),
        )
    ]


def _holder(firsts: dict[int, dict], head: str) -> int:
    """The stage that holds the most of a part of the original, else the first."""
    counts = {
        n: sum(name.startswith(f"{head}.") for name in value["parameters"]) for n, value in firsts.items()
    }
    return max(counts, key=lambda number: counts[number])
