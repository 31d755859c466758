"""E7101"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Edit, Finding, Fix, Place
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import OUTPUT_LOST, PairUsed
from ..tpstate.fixes import replace, safe, statement_of
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
    fix_note = (
        "Only where the pair is used where the call stands. A variable or a return value that may be "
        "taken apart elsewhere needs a reader."
    )

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
                evidence=(
                    at(
                        call,
                        tr("`%(layer)s` is called here and returns the pair", layer=label(chosen.pair.layer)),
                    ),
                ),
                fix=_fix(chosen),
                decided=event is not None,
                layer=label(chosen.pair.layer),
                how=chosen.how,
                call=_call_text(chosen),
            )


def _fix(event: PairUsed) -> Fix | None:
    if event.how == OUTPUT_LOST:
        node = event.site.node
        return safe(replace(event.site.module, node.slice, "0")) if isinstance(node, ast.Subscript) else None
    end = site_place(event.pair.call)
    where = Place(end.path, end.end_line, end.end_column, end.end_line, end.end_column)
    return Fix("safe" if _is_used_at_once(event) else "unsafe", (Edit(where, "[0]"),))


def _is_used_at_once(event: PairUsed) -> bool:
    """Whether nobody else takes the pair apart: it is handed on where it arises, or kept under a name for one use."""
    call = event.pair.call
    if call.function is not event.site.function:
        return False
    statement = statement_of(call.module, call.node)
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return) or statement.value is not call.node:
        return True
    if isinstance(statement, ast.Return) or call.function is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return len(names) == len(targets) and not any(
        _takes_apart(node, names) for node in ast.walk(call.function)
    )


def _takes_apart(node: ast.AST, names: set[str]) -> bool:
    """`pair[0]`, `x, _ = pair`, `return pair`, `(pair, …)`, `*pair`: another use as a pair, or one that is not seen."""
    if isinstance(node, ast.Tuple | ast.List):
        held: list[ast.AST | None] = list(node.elts)
    else:
        kinds = ast.Subscript | ast.Starred | ast.Return | ast.For | ast.Assign | ast.Yield
        held = [getattr(node, "iter", getattr(node, "value", None))] if isinstance(node, kinds) else []
    return any(
        isinstance(part, ast.Name) and part.id in names and isinstance(part.ctx, ast.Load) for part in held
    )


def _call_text(event: PairUsed) -> str:
    site = event.pair.call
    text = site.module.lines[site.node.lineno - 1].encode()
    if site.node.end_lineno == site.node.lineno:
        return str(text[site.node.col_offset : site.node.end_col_offset].decode())
    return f"{label(event.pair.layer)}(…)"
