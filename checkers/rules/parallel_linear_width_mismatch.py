"""E7115"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import size
from ..tpstate.layers import label
from ..tpstate.states import State
from ..tpstate.symbols import Poly
from ..tpstate.values import Tensor
from ..tpstate.verdicts import at, by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParallelLinearWidthMismatch(Rule):
    """The width a producer declares is not the `input_size` of the layer its output reaches."""

    code, symbol = "E7115", "parallel-linear-width-mismatch"
    message = "`%(layer)s` takes %(takes)s channels, but its input has %(given)s"
    advice = "Make the sizes agree: build `%(layer)s` for `%(given)s`, or fold the gate in front of it, if it has one."
    why = "Nothing between the two layers changes the width, so this fails at every tp size, 1 included."
    symptom = Symptom.CRASH
    runtime = "mat1 and mat2 shapes cannot be multiplied, at tp=1 already"
    limits = "Silent when the two widths cannot be compared: different names, a call in between that may change it."
    guide = "2.4: the MLP pattern"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
            self.fc2 = RowParallelLinear(
                2 * dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            hidden, _ = self.fc1(x)
            return self.fc2(nn.functional.gelu(hidden))[0]  # [parallel-linear-width-mismatch]
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
            event = first_certain([event for event in events if _differs(event)])
            if event is None:
                continue
            given = event.given
            assert isinstance(given, Tensor)
            takes = size(event.layer, event.row, 0)
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=(
                    *evidence(why(given)),
                    at(
                        event.layer.made_at,
                        tr(
                            "`%(layer)s` is built for %(takes)s channels",
                            layer=label(event.layer),
                            takes=takes,
                        ),
                    ),
                ),
                layer=label(event.layer),
                takes=takes,
                given=given.width,
            )


def _differs(event: ParallelCall) -> bool:
    given = event.given
    takes = size(event.layer, event.row, 0)
    if not isinstance(given, Tensor) or given.width is None or takes is None or given.why is None:
        return False
    if given.state is State.SHARDED and not given.last:
        return False  # reshaped on the way: the last dimension is another one now
    return cannot_be_equal(given.width, takes)


def cannot_be_equal(one: Poly, other: Poly) -> bool:
    """Whether two positive sizes are shown to differ: a constant factor or a constant distance apart."""
    ratio = one.ratio(other)
    if ratio is not None:
        return ratio != 1
    distance = (one - other).constant
    return distance is not None and distance != 0
