"""E7117"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import BiasOnPartial
from ..tpstate.inputs import layer_row
from ..tpstate.layers import label
from ..tpstate.parameter_events import WeightTaken
from ..tpstate.provider_table import ROW
from ..tpstate.values import Obj
from ..tpstate.verdicts import at, by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_BY_RANK = re.compile(r"\bbias\s*=[^,\n]*\brank\b")


class BiasAddedBeforeReduce(Rule):
    """A replicated bias is added to a partial sum, before the all-reduce."""

    code, symbol = "E7117", "bias-added-before-reduce"
    message = (
        "a bias that every TP rank holds is added to a partial sum: after the all-reduce it counts tp times"
    )
    advice = "Add it once, after the reduce: `reduce(F.linear(x, weight)) + bias`."
    why = "Each rank's product is one summand of the result; whatever each rank adds to its own is summed as well."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the output is too large by (tp - 1) times the bias"
    limits = "Silent where the bias may be there on one rank only."
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
    from torch import nn


    class OwnRow(nn.Module):
        def __init__(self, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.weight = nn.Parameter(torch.empty(width, width // tp))
            self.bias = nn.Parameter(torch.zeros(width))

        def forward(self, x):
            part = F.linear(x, self.weight, self.bias)  # [bias-added-before-reduce]
            return reduce_from_tensor_model_parallel_region(part)
    """
    good = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
    from torch import nn


    class OwnRow(nn.Module):
        def __init__(self, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.weight = nn.Parameter(torch.empty(width, width // tp))
            self.bias = nn.Parameter(torch.zeros(width))

        def forward(self, x):
            part = F.linear(x, self.weight)
            return reduce_from_tensor_model_parallel_region(part) + self.bias
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, BiasOnPartial):
            event = first_certain(events)
            if event is not None:
                yield self.finding(
                    site_place(event.site), object=owner_name(event), evidence=evidence(why(event.tensor))
                )
        for taken in by_site(analysis.log.events, WeightTaken):
            weight = first_certain(taken)
            row = layer_row(weight.layer) if weight is not None and weight.has_bias else None
            if weight is None or row is None or row.kind != ROW or _is_its_own(analysis, weight):
                continue
            if _is_on_one_rank(weight.layer):
                continue
            if any(event.mark in analysis.interpreter.reduced for event in taken):
                text = tr(
                    "`%(layer)s` is built here: its weight is split over the inputs",
                    layer=label(weight.layer),
                )
                yield self.finding(
                    site_place(weight.site),
                    object=owner_name(weight),
                    evidence=(at(weight.layer.made_at, text),),
                )


def _is_its_own(analysis: Analysis, event: WeightTaken) -> bool:
    """Whether the layer itself adds its bias."""
    cls = event.layer.cls.facts
    return cls is not None and event.owner in analysis.project.mro(cls)


def _is_on_one_rank(layer: Obj) -> bool:
    """Whether the class makes the bias by the rank: `bias=bias and rank == 0`."""
    facts = layer.cls.facts
    built = facts.methods.get("__init__") if facts is not None else None
    return (
        facts is not None and built is not None and _BY_RANK.search(facts.module.text_of(built)) is not None
    )
