"""W7119"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.held_layers import weights_taken
from ..tpstate.inputs import layer_row
from ..tpstate.layers import flag, label
from ..tpstate.parameter_events import WeightTaken
from ..tpstate.provider_table import COLUMN, ROW
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParallelLayerBypassed(Rule):
    """The weight of a parallel linear is multiplied directly, so its gather or all-reduce never happens."""

    code, symbol = "W7119", "parallel-layer-bypassed"
    message = (
        "the weight of `%(layer)s` is used without calling `%(layer)s`: its %(collective)s never happens"
    )
    advice = "Call the layer, `%(layer)s(x)[0]`, or reduce/gather the result yourself."
    why = "The weight is one rank's share. What makes the shares one result is in the layer's forward."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "each rank goes on with its own part of the result"
    limits = (
        "Silent where the result is reduced or gathered afterwards, where a class that reduces hands the weight "
        "to a function, and for layers that need no collective."
    )
    guide = "beyond the guide"

    bad = """
    import torch.nn.functional as F
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            return F.linear(x, self.fc.weight)  # [parallel-layer-bypassed]
    """
    good = """
    import torch.nn.functional as F
    from megatron.core.tensor_parallel import RowParallelLinear, reduce_from_tensor_model_parallel_region
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            return reduce_from_tensor_model_parallel_region(F.linear(x, self.fc.weight))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, WeightTaken):
            event = first_certain(events)
            row = layer_row(events[0].layer)
            if event is None or row is None or any(e.mark in analysis.interpreter.reduced for e in events):
                continue
            if _is_its_own(analysis, event) or _is_handed_on(analysis, event):
                continue
            gathers = flag(analysis.interpreter, event.layer, "gather_output", row.gather)
            if row.kind == ROW or (row.kind == COLUMN and gathers is True):
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=(
                        at(event.layer.made_at, tr("`%(layer)s` is built here", layer=label(event.layer))),
                    ),
                    layer=label(event.layer),
                    collective="all-reduce" if row.kind == ROW else tr("gather"),
                )
        for taken in weights_taken(analysis.project):
            yield self.finding(
                place_of(taken.frame.module, taken.call),
                object=taken.cls.name,
                evidence=(
                    Evidence(
                        taken.cls.module.display,
                        taken.made.lineno,
                        tr("a row-parallel layer of `self.%(attr)s` is built here", attr=taken.attr),
                    ),
                ),
                layer=f"self.{taken.attr}[…]",
                collective="all-reduce",
            )


def _is_its_own(analysis: Analysis, event: WeightTaken) -> bool:
    """Whether the layer itself multiplies its weight."""
    cls = event.layer.cls.facts
    return cls is not None and event.owner in analysis.project.mro(cls)


def _is_handed_on(analysis: Analysis, event: WeightTaken) -> bool:
    """Whether a function was given the weight, by a class that reduces something: what the function returned, maybe."""
    weight = f"{label(event.layer)}.weight"
    if weight in ast.unparse(event.site.node):
        return False
    return any(weight in cls.text and re.search(r"reduce", cls.text) for cls in analysis.project.classes())
