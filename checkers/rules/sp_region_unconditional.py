"""E7712"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.enclosing import is_conditional, leaves_early
from ..project.sequence_regions import SequenceRegions
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FLAG = re.compile(r"(config|args|self)\.sequence_parallel\b")


class SpRegionUnconditional(Rule):
    """A sequence-region function is called whether or not sequence parallelism is on."""

    code, symbol = "E7712", "sp-region-unconditional"
    message = "`%(call)s` runs in any case, and this class reads `%(flag)s`, which may be off"
    advice = "Write `if %(flag)s:` before it."
    why = (
        "With sequence parallelism off every rank holds the whole sequence: a gather then joins tp copies of it, a "
        "scatter cuts what nobody puts together again."
    )
    symptom = Symptom.CRASH
    runtime = (
        "with sequence_parallel off the sequence is tp times as long, or as short: shapes differ further on"
    )
    limits = (
        "Only in forward methods of classes that read the flag, for the default group, and where nothing before the "
        "call leaves the function."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
    from torch import nn


    class Pool(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.config = config
            self.weigh = nn.Linear(dim, 1)
            setattr(self.weigh.weight, "sequence_parallel", config.sequence_parallel)

        def forward(self, x):
            score = self.weigh(x)
            score = gather_from_sequence_parallel_region(score)  # [sp-region-unconditional]
            return score.softmax(dim=0)
    """
    good = """
    from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
    from torch import nn


    class Pool(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.config = config
            self.weigh = nn.Linear(dim, 1)
            setattr(self.weigh.weight, "sequence_parallel", config.sequence_parallel)

        def forward(self, x):
            score = self.weigh(x)
            if self.config.sequence_parallel:
                score = gather_from_sequence_parallel_region(score)
            return score.softmax(dim=0)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for call in analysis.project.knowledge(SequenceRegions).calls:
            flag = _FLAG.search(call.cls.text)
            if (
                flag is not None
                and call.function.name == "forward"
                and not call.own_group
                and not is_conditional(call.around)
                and not leaves_early(call.function, call.node.lineno)
            ):
                written = "self.sequence_parallel" if "self.sequence_parallel" in call.cls.text else ""
                yield self.finding(
                    place_of(call.cls.module, call.node),
                    object=call.cls.name,
                    call=call.name,
                    flag=written or "self.config.sequence_parallel",
                )
