"""W7114"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import is_built_by
from ..tpstate.layers import label
from ..tpstate.provider_table import MEGATRON, ROW
from ..tpstate.values import Tensor
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CatOfShards(Rule):
    """Two shards are concatenated along the split dimension and fed to one row-parallel layer."""

    code, symbol = "W7114", "cat-of-shards"
    message = "the input of `%(layer)s` joins shards of two tensors on the split dimension"
    advice = "Give each half a RowParallelLinear of its own and add the outputs, or gather before the concatenation."
    why = (
        "Rank r holds [a_r, b_r], so the rows of the weight follow the order a_0 b_0 a_1 b_1: shapes fit at every tp, "
        "but a checkpoint written at tp=1 means something else at tp=2."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "wrong numbers after a checkpoint is loaded at another tp size"
    limits = (
        "Megatron's training layers only: inference engines lay the rows out when they load. Silent for parts of "
        "one tensor that are put together again."
    )
    guide = "2.4: concatenation"

    bad = """
    import torch
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Join(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.a = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.b = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.out = RowParallelLinear(
                2 * dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            both = torch.cat([self.a(x)[0], self.b(x)[0]], dim=-1)
            return self.out(both)[0]  # [cat-of-shards]
    """
    good = """
    import torch
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Join(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.a = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
            self.b = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
            self.out = RowParallelLinear(
                2 * dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )

        def forward(self, x):
            both = torch.cat([self.a(x)[0], self.b(x)[0]], dim=-1)
            return self.out(both)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, ParallelCall):
            event = first_certain(
                [event for event in events if is_built_by(event, ROW) and _is_joined(event)]
            )
            if event is not None:
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.given)),
                    layer=label(event.layer),
                )


def _is_joined(event: ParallelCall) -> bool:
    return (
        isinstance(event.given, Tensor)
        and event.given.role == "cat of shards"
        and event.row.family == MEGATRON
        and event.given.why is not None
        and len([step for step in event.given.why.chain() if not step.before]) > 1
    )
