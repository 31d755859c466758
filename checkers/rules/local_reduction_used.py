"""E7130"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.parameter_events import PartReduced, WronglyReduced
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LocalReductionUsed(Rule):
    """A maximum, sum or norm of one rank's part is used on that part, and the ranks' are never put together."""

    code, symbol = "E7130", "local-reduction-used"
    message = "`%(part)s` is taken over one rank's part of a split dimension, and meets the part without an all-reduce"
    advice = (
        "All-reduce it first: `torch.distributed.all_reduce(%(part)s, op=torch.distributed.ReduceOp.%(op)s, "
        "group=parallel_state.get_tensor_model_parallel_group())`."
    )
    why = (
        "Each rank shifts or scales its part by a number of its own. What is summed over the ranks afterwards adds "
        "terms of different scales."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; probabilities and losses differ from those of tp=1"
    limits = (
        "Only for values seen to be split, reductions over the split dimension, and where the result is given to no "
        "collective in the same function."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            logits, _ = self.out(x)
            top = logits.amax(dim=-1, keepdim=True)
            total = (logits - top).exp().sum(dim=-1)  # [local-reduction-used]
            dist.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
            return total.log()
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            logits, _ = self.out(x)
            top = logits.amax(dim=-1, keepdim=True)
            torch.distributed.all_reduce(
                top, op=torch.distributed.ReduceOp.MAX, group=parallel_state.get_tensor_model_parallel_group()
            )
            total = (logits - top).exp().sum(dim=-1)
            torch.distributed.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
            return total.log()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for wrongs in by_site(analysis.log.events, WronglyReduced):
            wrong = first_certain(wrongs)
            if wrong is not None:
                yield self.finding(
                    site_place(wrong.site),
                    object=owner_name(wrong),
                    evidence=evidence(why(wrong.tensor)),
                    message="%(how)s",
                    advice=tr(
                        "Take the maximum of maxima, the sum of sums, and of a look-up the sum with zeros where the "
                        "index is another rank's: each by its own all-reduce, before it meets anything else."
                    ),
                    how=wrong.how,
                )
        for events in by_site(analysis.log.events, PartReduced):
            event = first_certain(events)
            if event is None or event.part.why is None:
                continue
            name, text = _part(event)
            if name and re.search(rf"(reduce|gather|broadcast)\w*\([^)]*\b{re.escape(name)}\b", text):
                continue
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(event.part.why, why(event.tensor)),
                part=name or "part",
                op="MAX" if "`max`" in event.part.why.text or "`amax`" in event.part.why.text else "SUM",
            )


def _part(event: PartReduced) -> tuple[str, str]:
    """The name that holds the part in the function that uses it, and the text of that function."""
    function, reduced = event.site.function, event.part.why
    if not isinstance(function, ast.FunctionDef) or reduced is None:
        return "", ""
    text = "\n".join(event.site.module.lines[function.lineno - 1 : function.end_lineno])
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.lineno <= reduced.line <= (node.end_lineno or 0):
            first = node.targets[0]
            first = first.elts[0] if isinstance(first, ast.Tuple) and first.elts else first
            return (first.id if isinstance(first, ast.Name) else ""), text
    return "", text
