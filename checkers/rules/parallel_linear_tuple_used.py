"""E7101"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Edit, Finding, Fix, Place
from ..rule import Rule, Symptom
from ..tpstate.events import PairUsed
from ..tpstate.layers import label
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParallelLinearTupleUsed(Rule):
    """The `(output, bias)` pair that a parallel linear returns is used as a tensor."""

    code, symbol = "E7101", "parallel-linear-tuple-used"
    message = "`%(layer)s` returns an (output, bias) pair, and %(how)s"
    advice = "Take the output first: `%(call)s[0]`, or unpack it: `x, _ = %(call)s`."
    why = (
        "Megatron's ColumnParallelLinear and RowParallelLinear return a pair always; `skip_bias_add` only decides "
        "whether the second element is the bias or None."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: dropout(): argument 'input' (position 1) must be Tensor, not tuple"
    limits = (
        "Silent where the provider returns a tensor, where the pair is unpacked, indexed or handed to code that "
        "unpacks it, and where what the layer is cannot be seen."
    )
    guide = "Principle 9: return values of parallel linears"
    maturity = "stable"
    fix_kind = "safe"

    bad = """
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )
            self.proj_drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.proj_drop(self.proj(x))  # [parallel-linear-tuple-used]
    """
    good = """
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Output(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )
            self.proj_drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.proj_drop(self.proj(x)[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, PairUsed):
            event = first_certain(events)
            chosen = event or events[0]
            call = chosen.pair.call
            yield self.finding(
                site_place(chosen.site),
                object=owner_name(chosen),
                evidence=(at(call, f"`{label(chosen.pair.layer)}` is called here and returns the pair"),),
                fix=_fix(chosen),
                decided=event is not None,
                layer=label(chosen.pair.layer),
                how=chosen.how,
                call=_call_text(chosen),
            )


def _fix(event: PairUsed) -> Fix:
    end = site_place(event.pair.call)
    where = Place(end.path, end.end_line, end.end_column, end.end_line, end.end_column)
    return Fix("safe", (Edit(where, "[0]"),))


def _call_text(event: PairUsed) -> str:
    site = event.pair.call
    text = site.module.lines[site.node.lineno - 1].encode()
    if site.node.end_lineno == site.node.lineno:
        return str(text[site.node.col_offset : site.node.end_col_offset].decode())
    return f"{label(event.pair.layer)}(…)"
