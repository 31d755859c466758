"""E7128"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.parameter_events import Divided
from ..tpstate.shares import handed_share
from ..tpstate.values import PER_RANK, Sym
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ShareDividedAgain(Rule):
    """A size that is one rank's share is divided by the TP size once more."""

    code, symbol = "E7128", "share-divided-again"
    message = "`%(size)s` is one rank's share already, and it is divided by the TP size again"
    advice = "Divide the size of all ranks together: `%(share)s * tp` where only the share is at hand."
    why = (
        "An index range or a size of a share is tp times too small: most of what the rank holds is never met."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "right at tp=1; at tp=2 labels are looked up in half of each rank's part, or shapes do not fit"
    limits = (
        "Only where the first division, or the split tensor whose last size this is, was seen in the same run of the "
        "code."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x, labels):
            logits, _ = self.out(x)
            share = logits.shape[-1]
            rank = parallel_state.get_tensor_model_parallel_rank()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            first = rank * (share // tp)  # [share-divided-again]
            return logits, labels - first
    """
    good = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x, labels):
            logits, _ = self.out(x)
            share = logits.shape[-1]
            rank = parallel_state.get_tensor_model_parallel_rank()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            first = rank * ((share * tp) // tp)
            return logits, labels - first
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Divided):
            twice = [
                event for event in events if _is_share(event) and handed_share(event) is None
            ]  # else E7125's
            event = first_certain(twice)
            if event is None:
                continue
            site = event.site
            # Inside a helper that also gets whole sizes, the call that gives it a share is to blame.
            outside = event.stack[-1] if len(twice) < len(events) and event.stack else site
            size = _given(outside.node, event.name) if outside is not site else event.name
            yield self.finding(
                site_place(outside),
                object=owner_name(event),
                evidence=(at(site, tr("`%(name)s` is divided by the TP size here", name=event.name)),),
                size=size,
                share=size,
            )


def _is_share(event: Divided) -> bool:
    """A share by itself: a product with the TP size, or a sum, may be whole again."""
    top = event.top
    return (
        isinstance(top, Sym) and PER_RANK in top.tags and sum(len(atoms) for atoms, _ in top.poly.terms) == 1
    )


def _given(call: ast.AST, name: str) -> str:
    """What a call gives for the name of a parameter that its function divides: the first argument, mostly."""
    return ast.unparse(call.args[0]) if isinstance(call, ast.Call) and call.args else name
