"""E7120"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import PartialMet
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class PartialSumEscapes(Rule):
    """A partial sum is used as if it were the whole one, before its all-reduce."""

    code, symbol = "E7120", "partial-sum-escapes"
    message = "a partial sum, of which each TP rank holds one summand, %(how)s before it is all-reduced"
    advice = (
        "Reduce it first: let the layer do it (`reduce_results=True`), or call "
        "`reduce_from_tensor_model_parallel_region` on it before this line."
    )
    why = (
        "Only the sum over the ranks means anything. What is added to one summand is counted once a rank by the later "
        "all-reduce, and a function that is not linear of a summand is no summand of the function."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "shapes fit and nothing fails; the output is garbage at tp >= 2 and right at tp = 1"
    limits = (
        "A value counts as whole where a layer made it so, or where the same argument enters a norm or a "
        "column-parallel layer. Silent for what one rank alone adds, and where the second operand is not known."
    )
    guide = "beyond the guide"

    bad = """
    from torch import nn
    from torch.nn import functional as F
    from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


    class Block(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.up = ColumnParallelLinear(dim, hidden, bias=False)
            self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

        def forward(self, x):
            h, _ = self.up(self.norm(x))
            out, _ = self.down(F.gelu(h))
            return x + out  # [partial-sum-escapes]
    """
    good = """
    from torch import nn
    from torch.nn import functional as F
    from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


    class Block(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.up = ColumnParallelLinear(dim, hidden, bias=False)
            self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=True)

        def forward(self, x):
            h, _ = self.up(self.norm(x))
            out, _ = self.down(F.gelu(h))
            return x + out
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, PartialMet):
            certain = first_certain(events) or next((event for event in events if event.settled), None)
            event = certain or events[0]
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(why(event.tensor), event.other),
                decided=certain is not None,
                how=event.how,
            )
