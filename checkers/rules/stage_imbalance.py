"""R7218"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.dispatchers import Branch, blocks_of, branches
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
from ..tpstate.stage_balance import balance, balance_as_started
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

TOLERANCE = 0.2
"""Of the mean: the guide allows 20 %."""


class StageImbalance(Rule):
    """The work of the stages of a model differs by more than 20 % of their mean."""

    code, symbol = "R7218", "stage-imbalance"
    message = "`%(cls)s` has %(share)s the work of an average stage (%(shares)s; %(method)s)"
    advice = "Move blocks between the stages until each is within a fifth of the mean."
    why = "A pipeline runs at the pace of its slowest stage, and the largest stage runs out of memory first."
    symptom = Symptom.COST
    runtime = "the other stages wait; out of memory on the largest"
    limits = (
        "An estimate from the sizes that the script gives the stages, else from default arguments: blocks, and patch "
        "embeddings and recoveries where their sizes are known; sampling layers are not counted. Silent where a depth "
        "is not known."
    )
    guide = "Principle 9 (balance): within 20 %"

    bad = """
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12), input_resolution=(8, 16, 16)):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=2)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):  # [stage-imbalance]
        def __init__(self, dim=64):
            super().__init__()
            self.layer2 = Fuser(dim, depth=6)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """
    good = """
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12), input_resolution=(8, 16, 16)):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=4)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer2 = Fuser(dim, depth=4)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for family in analysis.project.knowledge(Stages).families:
            by_default = balance(analysis, family) if family.complete else None
            started = balance_as_started(analysis, family) if by_default is not None else None
            found = started or by_default
            if found is None or all(abs(found.deviation(stage)) <= TOLERANCE for stage, _ in found.costs):
                continue
            heaviest = max(found.costs, key=lambda pair: pair[1])[0]
            shares = ", ".join(
                f"{stage.cls.name} {1 + found.deviation(stage):.2f}" for stage, _ in found.costs
            )
            yield self.finding(
                place_of(heaviest.cls.module, heaviest.cls.node),
                object=heaviest.cls.name,
                cls=heaviest.cls.name,
                share=tr("%(deviation).2f times", deviation=1 + found.deviation(heaviest)),
                shares=shares,
                method=found.method,
            )
        for stage in analysis.project.knowledge(Stages):
            if stage.family.dispatches:
                yield from self._dispatched(analysis, stage)

    def _dispatched(self, analysis: Analysis, stage: Stage) -> Iterator[Finding]:
        """One class for all stages, by the blocks that its branches build in loops."""
        counts: dict[int, list[tuple[Branch, int | None]]] = {}
        for branch in branches(analysis.project, stage.cls):
            if branch.stages is not None and branch.stages > 1 and not branch.at_least:
                counts.setdefault(branch.stages, []).append(
                    (branch, blocks_of(analysis.project, stage.cls, branch))
                )
        for number, held in counts.items():
            work = [count for _, count in held if count is not None]
            mean = sum(work) / len(work) if work else 0
            if len(work) != len(held) or len(held) != number or not mean:
                continue
            if max(work) - mean > TOLERANCE * mean:
                heaviest = max(held, key=lambda pair: pair[1] or 0)[0]
                yield self.finding(
                    place_of(stage.cls.module, heaviest.node),
                    object=stage.cls.name,
                    message="with %(number)s stages `%(cls)s` builds %(counts)s blocks on them, in their order",
                    number=number,
                    cls=stage.cls.name,
                    counts=", ".join(str(count) for count in work),
                )
