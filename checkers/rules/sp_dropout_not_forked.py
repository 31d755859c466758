"""W7714"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.enclosing import calls_within, is_forked
from ..project.project import External, Project, dotted_name
from ..project.sequence_regions import SCATTER, RegionCall, SequenceRegions, torch_layers
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SpDropoutNotForked(Rule):
    """Dropout on a sequence shard draws from the generator that all ranks of the group share."""

    code, symbol = "W7714", "sp-dropout-not-forked"
    message = (
        "`%(value)s` is one rank's stretch of the sequence, and `%(call)s` drops the same positions of each"
    )
    advice = (
        "Put it under `with get_cuda_rng_tracker().fork() if %(flag)s else nullcontext():`, whose generator differs "
        "between the ranks."
    )
    why = (
        "Outside the tracker the ranks of a tensor-parallel group draw the same numbers, so that whole values are "
        "dropped alike. On stretches of one sequence this repeats the mask tp times."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the noise of the stretches is the same, and training differs from tp = 1"
    limits = "Only where the function itself scatters the value that it drops out afterwards."
    guide = "beyond the guide"

    bad = """
    from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
    from torch import nn


    class Enter(nn.Module):
        def __init__(self, dim, rate, config):
            super().__init__()
            self.config = config
            self.embed = nn.Linear(dim, dim)
            self.drop = nn.Dropout(rate)

        def forward(self, x):
            x = self.embed(x)
            if self.config.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
            return self.drop(x)  # [sp-dropout-not-forked]
    """
    good = """
    from contextlib import nullcontext

    from megatron.core.tensor_parallel import get_cuda_rng_tracker, scatter_to_sequence_parallel_region
    from torch import nn


    class Enter(nn.Module):
        def __init__(self, dim, rate, config):
            super().__init__()
            self.config = config
            self.embed = nn.Linear(dim, dim)
            self.drop = nn.Dropout(rate)

        def forward(self, x):
            x = self.embed(x)
            if self.config.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
            with get_cuda_rng_tracker().fork() if self.config.sequence_parallel else nullcontext():
                return self.drop(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for call in analysis.project.knowledge(SequenceRegions).calls:
            if call.name == SCATTER and call.target is not None:
                yield from self._dropped(analysis.project, call, call.target)

    def _dropped(self, project: Project, call: RegionCall, value: str) -> Iterator[Finding]:
        for node, around in calls_within(call.function):
            is_later = node.lineno > call.node.lineno and bool(node.args)
            if is_later and dotted_name(node.args[0]) == value and _is_dropout(project, call, node):
                if not is_forked(around):
                    own = "self.sequence_parallel" in call.cls.text
                    yield self.finding(
                        place_of(call.cls.module, node),
                        object=call.cls.name,
                        evidence=(
                            Evidence(
                                call.cls.module.display,
                                call.node.lineno,
                                tr("`%(value)s` is scattered along the sequence", value=value),
                            ),
                        ),
                        value=value,
                        call=ast.unparse(node.func),
                        flag="self.sequence_parallel" if own else "self.config.sequence_parallel",
                    )
                return


def _is_dropout(project: Project, call: RegionCall, node: ast.Call) -> bool:
    """`F.dropout(x)`, or `self.drop(x)` of a layer that the constructor makes as nn.Dropout."""
    name = dotted_name(node.func) or ""
    if name.startswith("self."):
        return torch_layers(project, call.cls).get(name) == "torch.nn.Dropout"
    ref = project.resolve(call.cls.module, name)
    return isinstance(ref, External) and ref.dotted == "torch.nn.functional.dropout"
