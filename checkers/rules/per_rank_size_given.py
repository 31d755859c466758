"""E7125"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import Built
from ..tpstate.layers import label
from ..tpstate.parameter_events import Divided
from ..tpstate.provider_table import COLUMN, ROW, Provider
from ..tpstate.shares import handed_share
from ..tpstate.values import PER_RANK, Sym
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_OWN_SPLIT = frozenset({"tp_size", "tp_group", "disable_tp", "parallel_group", "tp_rank", "pg_collection"})


class PerRankSizeGiven(Rule):
    """A size that was divided by the TP size already is given to a parallel layer, which divides it itself."""

    code, symbol = "E7125", "per-rank-size-given"
    message = "`%(layer)s` divides its `%(parameter)s` over the TP ranks, and `%(size)s` is one rank's share already"
    advice = "Give `%(parameter)s` the size of all ranks together instead of `%(size)s`."
    why = "The layer takes the global size. Divided twice, its weight is tp times too small for what reaches it."
    symptom = Symptom.CRASH
    runtime = "mat1 and mat2 shapes cannot be multiplied at tp >= 2; right at tp = 1"
    limits = (
        "Only where the division by the TP size is seen, and the layer splits over the usual TP group: "
        "silent with `tp_size=`, `tp_group=` or `disable_tp=`."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Widen(nn.Module):
        def __init__(self, dim, hidden, config):
            super().__init__()
            share = hidden // parallel_state.get_tensor_model_parallel_world_size()
            self.up = ColumnParallelLinear(  # [per-rank-size-given]
                dim, share, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.up(x)[0]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Widen(nn.Module):
        def __init__(self, dim, hidden, config):
            super().__init__()
            self.up = ColumnParallelLinear(
                dim, hidden, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.up(x)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Built):
            event = first_certain([event for event in events if _divided(event) is not None])
            if event is not None:
                parameter = _divided(event)
                assert parameter is not None
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    layer=label(event.obj),
                    parameter=parameter,
                    size=_written(event, parameter),
                )
        for divided in by_site(analysis.log.events, Divided):
            again = first_certain([event for event in divided if handed_share(event) is not None])
            given = handed_share(again) if again is not None else None
            if again is not None and given is not None:
                yield self.finding(
                    site_place(given),
                    object=owner_name(again),
                    evidence=(
                        at(again.site, tr("`%(again)s` is divided by the TP size here", again=again.name)),
                    ),
                    message="`%(name)s` is divided by the TP size, and what it is given is one rank's share already",
                    advice="Give the count of all ranks together, and let the module divide it.",
                    name=again.name,
                )


def _divided(event: Built) -> str | None:
    """The size that a layer divides and that was divided before."""
    row = event.contract
    if not isinstance(row, Provider) or row.kind not in (COLUMN, ROW) or row.fused or len(row.positional) < 2:
        return None
    if _OWN_SPLIT & event.obj.args.keys() or event.open_keywords:
        return None
    parameter = row.positional[1 if row.kind == COLUMN else 0]
    given = event.obj.args.get(parameter)
    return (
        parameter if isinstance(given, Sym) and PER_RANK in given.tags and "head" not in parameter else None
    )


def _written(event: Built, parameter: str) -> str:
    """The size as it is written at the call."""
    node, row = event.site.node, event.contract
    assert isinstance(node, ast.Call)
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if parameter in named:
        return ast.unparse(named[parameter])
    index = row.positional.index(parameter)
    return ast.unparse(node.args[index]) if index < len(node.args) else parameter
