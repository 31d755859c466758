"""The shapes part: every distinct rank of a layout, run alone on the meta device, and all held against each other."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Sequence
from functools import partial

from . import parameters
from .costs import rank_bytes
from .dryrun import role
from .plan import Plan
from .processes import Outcome, run
from .results import Finding, Result, StageFigures, merged
from .tracking import shown


def verify_shapes(plan: Plan, overrides: dict[str, object] | None = None) -> Result:
    """Check shapes, dtypes, gradients, parameters and collectives, and trace what each stage costs."""
    result = Result("shapes", f"{plan.tp}x{plan.pp}")
    overrides = plan.overrides if overrides is None else overrides
    ranks = sorted({r + plan.tp * part for r in (0, plan.tp - 1) for part in (0, plan.parts - 1)})
    outcomes = run([partial(role, plan, rank, overrides) for rank in ranks], plan.limit, plan.memory)
    values = {
        rank: take(result, outcome, plan, None, rank) for rank, outcome in zip(ranks, outcomes, strict=True)
    }
    result.findings = _on_all_parts(result.findings, plan)
    known = values[0].get("known", {})
    preload(known.get("modules", ()))
    for key in sorted(set(plan.overrides) - set(known.get("used", plan.overrides))):
        result.notes.append(f"--set {key}: no configuration file that was read has this key")
    count = known.get("num_stages") or plan.pp
    if plan.pp > count:
        text = f"{count} stages cannot fill {plan.pp} pipeline ranks: lower --pp"
        result.findings.append(Finding("usage", text, path=shown(plan.script)))
        return result
    results = {
        (number, rank): found
        for rank, value in values.items()
        for number, found in value.get("stages", {}).items()
    }
    firsts = {number: found for (number, rank), found in results.items() if rank == 0}
    for first, last in _pairs(plan):
        two = {(stage, rank): found for (stage, rank), found in results.items() if rank in (first, last)}
        result.findings += _collectives(two, count, plan.parts > 1)
    result.findings += _samples(plan, [value["data"] for value in values.values() if "data" in value])
    result.findings += parameters.compare(plan, firsts, known)
    result.findings += parameters.lost(firsts, known.get("on one rank"))
    result.figures = _figures(firsts)
    result.findings = merged(result.findings)
    result.notes = list(dict.fromkeys(result.notes))
    result.facts |= {
        "stages": count,
        "ranks": plan.tp * plan.parts * plan.pp * plan.dp,
        "original": plan.original,
        "input": known.get("input"),
        "flops of the original, forward": known.get("flops"),
        "bubble": f"{(plan.pp - 1)}/(micro-batches + {plan.pp - 1})" if plan.pp > 1 else "none",
    }
    if len(result.figures) == count:
        result.facts["GiB of each pipeline rank"] = _memory(
            result.figures, plan, known.get("is_16_bit", False)
        )
    if not plan.original:
        result.notes.append("no original model was found: names and shapes of parameters are not compared")
    elif known.get("refused") and "input" not in known:
        result.notes.append(f"the original refuses what was tried: {known['refused'][:200]}")
    result.known = known
    return result


def preload(modules: Sequence[str]) -> None:
    """Import installed packages here, so that the processes to come need not."""
    for name in modules:
        if name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def take(result: Result, outcome: Outcome, plan: Plan, stage: int | None, rank: int) -> dict:
    """Move what a process found into the result; what it returned."""
    if outcome.value is not None:
        result.findings += outcome.value.pop("findings", [])
        result.notes += outcome.value.pop("notes", [])
        return outcome.value
    if outcome.error:
        raise RuntimeError(f"the verification itself failed:\n{outcome.error}")
    own = [*plan.roots, *plan.renamed.values(), plan.script.rpartition("/")[0]]
    frames = [f for f in outcome.stack if f[0].startswith(tuple(own)) and "site-packages" not in f[0]]
    place = frames[0] if frames else ("", 0, "")
    doing = f", in {outcome.doing}" if outcome.doing else ""
    where = f" in {place[2]}" if frames else ""
    kind = "hang" if outcome.death.startswith(("did not end", "waits")) else "crash"
    result.findings.append(
        Finding(
            kind,
            f"the process {outcome.death}{where}{doing}",
            stage,
            (rank,),
            path=shown(place[0]) if frames else "",
            line=place[1],
            because=tuple(f"{shown(path)}:{line} in {name}" for path, line, name in frames[1:6]),
            also=tuple((shown(path), line) for path, line, _ in frames[1:]),
        )
    )
    return {"failed": True}


def _on_all_parts(findings: list[Finding], plan: Plan) -> list[Finding]:
    """Of ranks that share the tokens, one may have no use for a module: its gradient comes from the others."""
    if plan.parts == 1:
        return findings
    last = plan.tp * (plan.parts - 1)
    seen = {(f.stage, f.message, f.ranks) for f in findings}

    def elsewhere(finding: Finding) -> bool:
        [rank] = finding.ranks
        return (finding.stage, finding.message, (rank + last if rank < plan.tp else rank - last,)) in seen

    return [f for f in findings if f.rule != "stage-module-unused" or len(f.ranks) != 1 or elsewhere(f)]


def _pairs(plan: Plan) -> list[tuple[int, int]]:
    """Ranks whose collectives must be the same: tensor-parallel ones, and ones that share the tokens."""
    starts = sorted({0, plan.tp * (plan.parts - 1)})
    pairs = [(start, start + plan.tp - 1) for start in starts] if plan.tp > 1 else []
    return pairs + ([(0, starts[-1])] if plan.parts > 1 else [])


def _collectives(results: dict, count: int, of_both: bool) -> list[Finding]:
    """Where the two ranks of a stage part; with `of_both`, in collectives of groups that hold both."""
    found = []
    for number in range(count):
        lists = [
            (rank, value["calls"])
            for (stage, rank), value in results.items()
            if stage == number and "calls" in value
        ]
        if len(lists) < 2 or any(
            value.get("failed") for (stage, _), value in results.items() if stage == number
        ):
            continue
        (first, ours), (other, theirs) = lists[0], lists[-1]
        if of_both:
            ours, theirs = (
                [call for call in calls if {first, other} <= set(call.group)] for calls in (ours, theirs)
            )
        for index in range(max(len(ours), len(theirs))):
            a = ours[index] if index < len(ours) else None
            b = theirs[index] if index < len(theirs) else None
            if a is not None and b is not None and a.same(b):
                continue
            call = a or b
            text = (
                f"collective {index} differs: rank {first} enters {a or 'none more'}, rank {other} enters "
                f"{b or 'none more'}; on GPUs they wait for each other for ever"
            )
            found.append(
                Finding(
                    "collectives",
                    text,
                    number,
                    (first, other),
                    path=shown(call.path),
                    line=call.line,
                    rule="collective-in-rank-branch",
                )
            )
            break
    return found


def _samples(plan: Plan, looked: list) -> list[Finding]:
    """Whether all tensor-parallel ranks read the same sample for the same number."""
    if len({data.sample for data in looked if data.sample}) < 2:
        return []
    text = (
        "sample 0 of the training data is another one on each tensor-parallel rank: the data set draws at random, and "
        "nothing makes the ranks draw alike"
    )
    ranks = (0, plan.tp - 1)
    return [Finding("data", text, None, ranks, "", "", "", *looked[0].place, "dataset-random-per-process")]


def _figures(firsts: dict[int, dict]) -> list[StageFigures]:
    figures = [value["figures"] for value in firsts.values() if value.get("figures") is not None]
    mean = sum(f.flops for f in figures) / len(figures) if figures else 0
    return [dataclasses.replace(f, share=round(f.flops / mean, 3) if mean else 1.0) for f in figures]


def _memory(figures: list[StageFigures], plan: Plan, is_16_bit: bool) -> str:
    """What each pipeline rank holds at its fullest, in the one-forward-one-backward schedule."""
    said = []
    count = len(figures)
    for rank in range(plan.pp):
        own = figures[rank * count // plan.pp : (rank + 1) * count // plan.pp]
        whole, state = rank_bytes(own, plan.pp - rank, is_16_bit)
        said.append(f"{whole / 2**30:.3g} ({state / 2**30:.3g} of parameters, gradients and Adam)")
    return ", ".join(said)
