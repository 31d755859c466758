"""The work of the stages of a model against each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..facts.module import ClassFacts
from ..language import tr
from ..project.stages import Family, Stage
from ..project.training import Training
from .analysis import Analysis
from .stage_models import (
    CHANNELS,
    PATCHES,
    Stack,
    arguments,
    integer,
    is_counted,
    is_patches,
    product,
    stacks,
)
from .stage_sizes import StageSizes


@dataclass(frozen=True)
class Balance:
    """The work of the stages of a family: `costs` by stage, and whether they are multiplications or block counts."""

    costs: tuple[tuple[Stage, int], ...]
    is_estimate: bool
    sizes: str = "default arguments"

    @property
    def mean(self) -> float:
        return sum(cost for _, cost in self.costs) / len(self.costs)

    def deviation(self, stage: Stage) -> float:
        """How far a stage is from the mean: 0.25 is a quarter more."""
        return dict(self.costs)[stage] / self.mean - 1

    @property
    def method(self) -> str:
        """How it was estimated, in words."""
        if self.is_estimate:
            return tr("depth x tokens x (12 dim^2 + 2 window dim), %(sizes)s", sizes=self.sizes)
        return tr("number of blocks, %(sizes)s", sizes=self.sizes)


def patch_cost(analysis: Analysis, cls: ClassFacts, given: Mapping[str, Any] = MappingProxyType({})) -> int:
    """Multiplications of one sample in patch embeddings and recoveries: cells x channels x dim, as far as known."""
    total = 0
    for event in analysis.built_by_default(cls, is_counted, given):
        facts = event.obj.cls.facts
        method = analysis.project.method(facts, "__init__") if facts is not None else None
        if facts is not cls and method is not None and is_patches(method[1]):
            args = arguments(analysis, event)
            widths = [integer(args[name]) for name in CHANNELS if name in args]
            cells = product(args.get(PATCHES[0]))
            if cells is not None and len(widths) == 2:
                total += cells * math.prod(width or 0 for width in widths)
    return total


def balance(analysis: Analysis, family: Family) -> Balance | None:
    """The work of each stage with default arguments, None where it cannot be told for every one."""
    built = [(stage, stacks(analysis, stage.cls)) for stage in family.stages]
    return weighed(built, patches=[patch_cost(analysis, stage.cls) for stage in family.stages])


def as_started(analysis: Analysis, family: Family) -> list[dict[str, Any]]:
    """The arguments that a training script gives to each stage; empty where no call that builds it was seen."""
    scripts = [script for script in analysis.project.knowledge(Training) if script.family is family]
    found = []
    for stage in family.stages:
        method = analysis.project.method(stage.cls, "__init__")
        given: dict[str, Any] = {}
        for script in scripts:
            for config in script.shape_configs:
                if method is not None and not given:
                    given = StageSizes(script, config).given(method[1]) or {}
        found.append(given)
    return found


def balance_as_started(analysis: Analysis, family: Family) -> Balance | None:
    """The work of each stage with the sizes that a script gives them, None where it cannot be told for every one."""
    given = as_started(analysis, family)
    if not all(given):
        return None
    pairs = list(zip(family.stages, given, strict=True))
    built = [(stage, stacks(analysis, stage.cls, own)) for stage, own in pairs]
    return weighed(
        built, tr("sizes of the script"), [patch_cost(analysis, stage.cls, own) for stage, own in pairs]
    )


def weighed(
    by_stage: Sequence[tuple[Stage, list[Stack]]],
    sizes: str = tr("default arguments"),
    patches: Sequence[int] = (),
) -> Balance | None:
    """The work of stages by what they build, and of the `patches` of each; `sizes` says with which sizes."""
    if not all(found for _, found in by_stage):
        return None
    besides = patches or [0] * len(by_stage)
    exact = [
        (stage, [*(stack.cost for stack in found), cost])
        for (stage, found), cost in zip(by_stage, besides, strict=True)
    ]
    if all(cost is not None for _, costs in exact for cost in costs):
        return Balance(
            tuple((stage, sum(cost or 0 for cost in costs)) for stage, costs in exact), True, sizes
        )
    counted = [(stage, [stack.depth for stack in found]) for stage, found in by_stage]
    if all(depth is not None for _, depths in counted for depth in depths):
        return Balance(
            tuple((stage, sum(depth or 0 for depth in depths)) for stage, depths in counted), False, sizes
        )
    return None
