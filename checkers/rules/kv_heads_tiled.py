"""W7126"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import HeadsTiled
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class KvHeadsTiled(Rule):
    """Key or value heads of one rank are repeated block by block, so that queries meet other keys at each tp size."""

    code, symbol = "W7126", "kv-heads-tiled"
    message = "the heads of one rank are repeated one block after another: which query meets which key depends on tp"
    advice = "Repeat each head beside itself: `%(value)s.repeat_interleave(%(times)s, dim=%(dim)s)`."
    why = (
        "Column parallelism gives a rank consecutive query heads and their consecutive key heads. `repeat` lays the "
        "block of keys out again and again, so query i meets key i % (keys of the rank); at another tp size that is "
        "another key of the whole model. `repeat_interleave` pairs query i with key i // n at every size."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the same weights give another attention at tp=2 than at tp=1."
    limits = "Only where the heads of a column-parallel projection are followed up to the `repeat` or `tile`."
    guide = "beyond the guide"
    bad = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Keys(nn.Module):
        def __init__(self, config):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert config.num_query_groups % tp == 0
            self.groups = config.num_query_groups // tp
            self.per_group = config.num_attention_heads // config.num_query_groups
            self.dim = config.kv_channels
            self.k = ColumnParallelLinear(
                config.hidden_size,
                config.num_query_groups * config.kv_channels,
                config=config,
                init_method=config.init_method,
                gather_output=False,
            )

        def forward(self, x):
            s, b, _ = x.shape
            k, _ = self.k(x)
            k = k.view(s, b, self.groups, self.dim)
            return k.repeat(1, 1, self.per_group, 1)  # [kv-heads-tiled]
    """
    good = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Keys(nn.Module):
        def __init__(self, config):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert config.num_query_groups % tp == 0
            self.groups = config.num_query_groups // tp
            self.per_group = config.num_attention_heads // config.num_query_groups
            self.dim = config.kv_channels
            self.k = ColumnParallelLinear(
                config.hidden_size,
                config.num_query_groups * config.kv_channels,
                config=config,
                init_method=config.init_method,
                gather_output=False,
            )

        def forward(self, x):
            s, b, _ = x.shape
            k, _ = self.k(x)
            k = k.view(s, b, self.groups, self.dim)
            return k.repeat_interleave(self.per_group, dim=2)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, HeadsTiled):
            event = first_certain(events)
            if event is not None:
                value, times = _operands(event)
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    value=value,
                    times=times,
                    dim=event.tensor.axis,
                )


def _operands(event: HeadsTiled) -> tuple[str, str]:
    """What is repeated, and how often along the heads, as the code writes them."""
    node = event.site.node
    assert isinstance(node, ast.Call)
    given = list(node.args)
    if given and isinstance(given[0], ast.BinOp):  # torch.cat([k] * n, dim=2)
        parts, times = given[0].left, given[0].right
        if not isinstance(parts, ast.List | ast.Tuple):
            parts, times = times, parts
        value = parts.elts[0] if isinstance(parts, ast.List | ast.Tuple) and parts.elts else given[0]
        return ast.unparse(value), ast.unparse(times)
    value = given.pop(0) if isinstance(node.func, ast.Attribute) and node.func.attr == "tile" else node.func
    if isinstance(value, ast.Attribute) and value is node.func:
        value = value.value
    counts = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List) else given
    at = event.tensor.axis or 0
    return ast.unparse(value), ast.unparse(counts[at]) if at < len(counts) else "…"
