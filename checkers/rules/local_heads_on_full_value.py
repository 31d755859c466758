"""E7121"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import Reshaped
from ..tpstate.states import State
from ..tpstate.values import PER_RANK, TP, Const, Sym
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LocalHeadsOnFullValue(Rule):
    """A value that every rank holds whole is viewed with the head count of one rank."""

    code, symbol = "E7121", "local-heads-on-full-value"
    message = "a value that is whole on every TP rank is viewed with `%(heads)s`, the count of one rank"
    advice = (
        "Use the whole count here, or leave the value split where it is made (`gather_output=False`); "
        "decide which of the two the rest of the block expects."
    )
    why = (
        "The whole width holds all heads; per-rank sizes multiply out to width // tp, so the view cannot fit."
    )
    symptom = Symptom.CRASH
    runtime = "RuntimeError: shape is invalid for input of size …, at tp >= 2"
    limits = (
        "Silent where one of the sizes is -1 or the TP size, and where the value is not known to be whole."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert num_heads % tp == 0
            self.num_heads_per_rank = num_heads // tp
            self.head_dim = dim // num_heads
            self.q = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=True
            )

        def forward(self, x):
            b, n, _ = x.shape
            q, _ = self.q(x)
            return q.view(b, n, self.num_heads_per_rank, self.head_dim)  # [local-heads-on-full-value]
    """
    good = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert num_heads % tp == 0
            self.num_heads_per_rank = num_heads // tp
            self.head_dim = dim // num_heads
            self.q = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            b, n, _ = x.shape
            q, _ = self.q(x)
            return q.view(b, n, self.num_heads_per_rank, self.head_dim)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Reshaped):
            wrong = [event for event in events if local_heads(event) is not None]
            event = first_certain(wrong)
            if event is not None:
                index = local_heads(event)
                assert index is not None
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    heads=ast.unparse(event.nodes[index]),
                )


def local_heads(event: Reshaped) -> int | None:
    """The index of a per-rank size among those a whole value is viewed with."""
    tensor = event.tensor
    if tensor.state is not State.FULL or tensor.why is None:
        return None
    if any(size == Const(-1) or (isinstance(size, Sym) and TP in size.tags) for size in event.sizes):
        return None
    for index, size in enumerate(event.sizes):
        if isinstance(size, Sym) and PER_RANK in size.tags:
            return index
    return None
