"""E7105"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import Reshaped
from ..tpstate.states import State
from ..tpstate.symbols import Poly
from ..tpstate.values import HEADS, PER_RANK, Const, Sym, Value, poly_of
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FullHeadsOnShardedValue(Rule):
    """A split projection is reshaped with the head count of the whole model."""

    code, symbol = "E7105", "full-heads-on-sharded-value"
    message = "a projection split across the TP ranks is reshaped with all `%(heads)s` heads"
    advice = (
        "Use the heads of one rank: `self.%(name)s_per_rank = %(name)s // config.tensor_model_parallel_size`."
    )
    why = "Each TP rank holds num_heads // tp heads; sizes that multiply to the whole width do not fit its share."
    symptom = Symptom.CRASH
    runtime = "shape '[...]' is invalid for input of size ..., at tp >= 2 only"
    limits = "Silent where the head count comes from `// tp` or `divide(...)`, or the sizes cannot be multiplied out."
    guide = "Principle 10: heads per rank"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            self.num_heads = num_heads
            self.head_dim = dim // num_heads
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, _ = self.q_proj(x)
            return q.view(batch, tokens, self.num_heads, self.head_dim)  # [full-heads-on-sharded-value]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.num_heads_per_rank = num_heads // config.tensor_model_parallel_size
            self.head_dim = dim // num_heads
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, _ = self.q_proj(x)
            return q.view(batch, tokens, self.num_heads_per_rank, self.head_dim)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Reshaped):
            wrong = [event for event in events if full_heads(event, event.equal) is not None]
            event = first_certain(wrong)
            if event is None:
                continue
            heads = full_heads(event, event.equal)
            assert heads is not None
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(why(event.tensor)),
                heads=ast.unparse(event.nodes[heads]),
                name=ast.unparse(event.nodes[heads]).rsplit(".", 1)[-1],
            )


def full_heads(event: Reshaped, known: dict[str, Poly]) -> int | None:
    """The index of a head count that is shown to be the whole model's, None where it is not."""
    tensor = event.tensor
    if tensor.state is not State.SHARDED or tensor.width is None:
        return None
    if any(isinstance(size, Sym) and PER_RANK in size.tags for size in event.sizes):
        return None
    for index, size in enumerate(event.sizes):
        named = "head" in ast.unparse(event.nodes[index])
        if not isinstance(size, Sym) or not (HEADS in size.tags or named) or index + 1 >= len(event.sizes):
            continue
        if _multiplies_out(event.sizes, index, tensor.width.substituted(known), known):
            return index
    return None


def _multiplies_out(sizes: tuple[Value, ...], index: int, width: Poly, known: dict[str, Poly]) -> bool:
    product = Poly.number(1)
    for size in sizes[index:]:
        poly = poly_of(size)
        if poly is None or (isinstance(size, Const) and size.value == -1):
            return False
        product = product * poly.substituted(known)
    before = sizes[index - 1] if index else Const(1)
    groups = poly_of(before) if isinstance(before, Const) and before.value in (2, 3) else Poly.number(1)
    return product == width or (groups is not None and product * groups == width)
