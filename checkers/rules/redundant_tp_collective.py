"""R7112"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import believes_split, is_built_by
from ..tpstate.layers import label
from ..tpstate.provider_table import ROW
from ..tpstate.values import Tensor
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RedundantTpCollective(Rule):
    """A column-parallel output is gathered only to be split again by the next layer."""

    code, symbol = "R7112", "redundant-tp-collective"
    message = "the input of `%(layer)s` was just gathered, and `%(layer)s` splits it again"
    advice = "Write gather_output=False on the column layer and input_is_parallel=True on `%(layer)s`."
    why = "An all-gather followed by a split moves the whole activation for nothing, forward and backward."
    symptom = Symptom.COST
    runtime = "one all-gather more per call"
    limits = "Silent when the gathered value is used in another way on the way."
    guide = "2.4: the MLP pattern"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=True)
            self.fc2 = RowParallelLinear(
                4 * dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )

        def forward(self, x):
            hidden, _ = self.fc1(x)
            return self.fc2(nn.functional.gelu(hidden))[0]  # [redundant-tp-collective]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
            self.fc2 = RowParallelLinear(
                4 * dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            hidden, _ = self.fc1(x)
            return self.fc2(nn.functional.gelu(hidden))[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, ParallelCall):
            event = first_certain(
                [event for event in events if is_built_by(event, ROW) and _splits_gathered(event)]
            )
            if event is None or not all(_splits_gathered(other) for other in events):
                continue
            if isinstance(event.given, Tensor) and analysis.interpreter.used_once(event.given.tag):
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.given)),
                    layer=label(event.layer),
                )


def _splits_gathered(event: ParallelCall) -> bool:
    return (
        isinstance(event.given, Tensor) and event.given.role == "gathered" and believes_split(event) is False
    )
