"""E7118"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import LossOnGathered
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParallelLossOnGathered(Rule):
    """A vocab-parallel cross entropy is given logits that every rank holds whole."""

    code, symbol = "E7118", "parallel-loss-on-gathered"
    message = "a parallel cross entropy expects each rank's share of the logits, and gets all of them"
    advice = "Build the output layer with gather_output=False, or use torch.nn.functional.cross_entropy."
    why = "The loss sums exp(logits) over the ranks: whole logits are counted tp times, which adds log(tp) to the loss."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the loss is too large by log(tp); targets of the other ranks' rows are masked out"
    limits = "Silent when the state of the logits cannot be told."
    guide = "beyond the guide"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, vocab_parallel_cross_entropy
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocabulary, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocabulary, config=config, init_method=config.init_method, gather_output=True
            )

        def forward(self, x, labels):
            logits, _ = self.out(x)
            return vocab_parallel_cross_entropy(logits, labels)  # [parallel-loss-on-gathered]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, vocab_parallel_cross_entropy
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocabulary, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocabulary, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x, labels):
            logits, _ = self.out(x)
            return vocab_parallel_cross_entropy(logits, labels)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, LossOnGathered):
            event = first_certain(events)
            if event is not None:
                yield self.finding(
                    site_place(event.site), object=owner_name(event), evidence=evidence(why(event.tensor))
                )
