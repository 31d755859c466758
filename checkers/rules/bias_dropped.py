"""E7113"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import BiasDropped as Dropped
from ..tpstate.fixes import replace, unsafe
from ..tpstate.layers import label
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BiasDropped(Rule):
    """A layer leaves its bias to the caller (`skip_bias_add=True`), and the caller throws it away."""

    code, symbol = "E7113", "bias-dropped"
    message = "`%(layer)s` has skip_bias_add=True and returns its bias, which is discarded here"
    advice = "Add the returned bias, or build `%(layer)s` with skip_bias_add=False."
    why = (
        "The bias parameter exists and never takes part: it gets no gradient, and a checkpoint that has one gives "
        "other results."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "output without bias; the bias has no gradient"
    limits = "Silent where `bias` or `skip_bias_add` cannot be told, or the pair is kept."
    guide = "Principle 9: return values of parallel linears"
    fix_kind = "unsafe"
    fix_note = "Numbers change: the bias is added from here on, and checkpoints trained without it had none."

    bad = """
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=True,
            )

        def forward(self, x):
            x, _ = self.proj(x)  # [bias-dropped]
            return x
    """
    good = """
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=True,
            )

        def forward(self, x):
            x, bias = self.proj(x)
            return x + bias
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Dropped):
            event = first_certain(events)
            if event is not None and not _is_read_elsewhere(event):
                built = event.pair.layer.made_at
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=(
                        at(
                            built,
                            tr("`%(layer)s` is built with skip_bias_add=True", layer=label(event.pair.layer)),
                        ),
                    ),
                    fix=_add_in_the_layer(event),
                    layer=label(event.pair.layer),
                )


def _add_in_the_layer(event: Dropped) -> Fix | None:
    """`skip_bias_add=False` where the layer is built, if it is written there."""
    built = event.pair.layer.made_at
    for keyword in built.node.keywords if isinstance(built.node, ast.Call) else ():
        if keyword.arg == "skip_bias_add" and isinstance(keyword.value, ast.Constant):
            return unsafe(replace(built.module, keyword.value, "False"))
    return None


def _is_read_elsewhere(event: Dropped) -> bool:
    """Whether the class takes the bias from the layer itself (`self.proj.bias`), for a kernel that adds it."""
    owner = event.owner
    if owner is None:
        return False
    text = owner.text
    return f"{label(event.pair.layer)}.bias" in text
