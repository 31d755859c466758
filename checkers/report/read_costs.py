"""The work of the stages as reading estimates it: held against what a trace shows."""

from __future__ import annotations

from pathlib import Path

from ..engine import room
from ..tpstate.analysis import Analysis
from ..tpstate.stage_balance import as_started, patch_cost
from ..tpstate.stage_models import stacks
from .target import read_around, script_of


def read_shares(script: Path, tp: int) -> tuple[float, ...]:
    """What each stage that a script starts computes on one of `tp` ranks, over the mean; () where it is not known.

    Blocks are shared by the tensor-parallel ranks, patch embeddings and recoveries are whole on each.
    """
    script = script.absolute()
    with room():
        project, _ = read_around(script)
        found = script_of(project, script)
        family = found.family if found is not None else None
        if family is None or not family.ordered:
            return ()
        analysis = Analysis(project)
        costs = []
        for stage, given in zip(family.stages, as_started(analysis, family), strict=True):
            built = [stack.cost for stack in stacks(analysis, stage.cls, given)]
            if not given or not built or None in built:
                return ()
            costs.append(sum(cost or 0 for cost in built) / tp + patch_cost(analysis, stage.cls, given))
    mean = sum(costs) / len(costs)
    return tuple(cost / mean for cost in costs)
