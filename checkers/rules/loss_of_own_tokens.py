"""W7718"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.token_events import TokensInLoss
from ..tpstate.verdicts import by_site, evidence, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SHARED = re.compile(r"reduce|group|gather_from|world_size|tp_size|\btp\b")


class LossOfOwnTokens(Rule):
    """Under sequence parallelism a balancing loss is computed from one rank's tokens."""

    code, symbol = "W7718", "loss-of-own-tokens"
    message = "with sequence parallelism on, `%(loss)s` balances the tokens of each rank by themselves"
    advice = (
        "Give it all tokens: `gather_from_sequence_parallel_region(%(value)s, tensor_parallel_output_grad=False)`, or "
        "sum its counts over the group."
    )
    why = (
        "The loss multiplies two means over the tokens. The product of the means of a stretch is not that of the whole "
        "sequence, and the gradients of the ranks are summed: the loss is another one, and weighs tp times as much."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the experts are balanced otherwise than without sequence parallelism"
    limits = (
        "Only for functions named as a balancing or auxiliary loss whose text speaks of no group, size or reduction, "
        "and where the tokens are followed from Megatron's sequence-region functions."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
    from torch import nn


    def balancing_loss(probs, chosen):
        return (probs.mean(dim=0) * chosen.float().mean(dim=0)).sum()


    class Router(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.sequence_parallel = config.sequence_parallel

        def forward(self, x):
            if self.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
            probs = x.softmax(dim=-1)
            return probs, balancing_loss(probs, probs > 0.5)  # [loss-of-own-tokens]
    """
    good = """
    from megatron.core.tensor_parallel import (
        gather_from_sequence_parallel_region,
        scatter_to_sequence_parallel_region,
    )
    from torch import nn


    def balancing_loss(probs, chosen):
        return (probs.mean(dim=0) * chosen.float().mean(dim=0)).sum()


    class Router(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.sequence_parallel = config.sequence_parallel

        def forward(self, x):
            if self.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
            probs = x.softmax(dim=-1)
            every = probs
            if self.sequence_parallel:
                every = gather_from_sequence_parallel_region(probs, tensor_parallel_output_grad=False)
            return probs, balancing_loss(every, every > 0.5)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, TokensInLoss):
            event = next((event for event in events if not event.on_one_rank), None)
            if event is None or _shares(analysis, event):
                continue
            call = event.site.node
            first = call.args[0] if isinstance(call, ast.Call) and call.args else None
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(event.tokens.why),
                loss=event.loss,
                value=ast.unparse(first) if first is not None else "…",
            )


def _shares(analysis: Analysis, event: TokensInLoss) -> bool:
    """Whether the loss function of the tree, or the statement that calls it, speaks of the other ranks."""
    lines = event.site.module.lines
    node = event.site.node
    if _SHARED.search("\n".join(lines[node.lineno - 1 : node.end_lineno])):
        return True
    for module in analysis.project.modules:
        for part in ast.walk(module.tree) if f"def {event.loss}(" in module.text else ():
            if isinstance(part, ast.FunctionDef) and part.name == event.loss:
                body = "\n".join(module.lines[part.lineno - 1 : part.end_lineno])
                if _SHARED.search(body):
                    return True
    return False
