"""The work of the stages as reading estimates it: held against what a trace shows."""

from __future__ import annotations

from pathlib import Path

from ..engine import room
from ..files.discovery import FileSet
from ..files.roots import Folders, project_root
from ..project.project import Project
from ..project.training import Training
from ..settings import load_settings
from ..tpstate.analysis import Analysis
from ..tpstate.stage_balance import as_started, patch_cost
from ..tpstate.stage_models import stacks


def read_shares(script: Path, tp: int) -> tuple[float, ...]:
    """What each stage that a script starts computes on one of `tp` ranks, over the mean; () where it is not known.

    Blocks are shared by the tensor-parallel ranks, patch embeddings and recoveries are whole on each.
    """
    script = script.absolute()
    around = project_root(script, Folders()) or script.parent
    with room():
        settings = load_settings(script)
        project = Project(FileSet.gather([around, script], settings), settings)
        family = next(
            (found.family for found in project.knowledge(Training) if found.module.path == script), None
        )
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
