"""E7102"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import ParallelCall
from ..tpstate.fixes import replace, safe
from ..tpstate.inputs import Verdict, believes_split, judge, size
from ..tpstate.layers import label
from ..tpstate.provider_table import COLUMN, ROW
from ..tpstate.symbols import Poly
from ..tpstate.values import Tensor
from ..tpstate.verdicts import at, by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class InputIsParallelMismatch(Rule):
    """A RowParallelLinear believes its input is split when it is full, or full when it is split."""

    code, symbol = "E7102", "input-is-parallel-mismatch"
    message = "`%(layer)s` was told `input_is_parallel=%(told)s`, but its input is %(state)s"
    advice = "Write `input_is_parallel=%(right)s` where `%(layer)s` is built (line %(line)d)."
    why = (
        "The flag says whether each TP rank already holds only its share of the last dimension. A row-parallel layer "
        "told the wrong thing multiplies its share of the weight with the wrong part of the input."
    )
    symptom = Symptom.CRASH
    runtime = "mat1 and mat2 shapes cannot be multiplied (N x dim and dim/tp x out), at tp >= 2 only"
    limits = "Silent when the TP state of the input cannot be told; `--strict` lists those places."
    guide = "2.4: decision tree of input_is_parallel"
    maturity = "stable"
    fix_kind = "safe"
    fix_note = (
        "The layer fails as it is at two ranks; with one rank the flag changes nothing. Where a gather in front is the "
        "odd one, it goes instead. Left alone where other calls of the same layer need the flag as it is written."
    )

    bad = """
    import torch
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Merge(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.attn_proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )
            self.concat_proj = RowParallelLinear(
                2 * dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            out, _ = self.attn_proj(x)
            both = torch.cat([out, x], dim=-1)
            both, _ = self.concat_proj(both)  # [input-is-parallel-mismatch]
            return both
    """
    good = """
    import torch
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class Merge(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.attn_proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )
            self.concat_proj = RowParallelLinear(
                2 * dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )

        def forward(self, x):
            out, _ = self.attn_proj(x)
            both = torch.cat([out, x], dim=-1)
            both, _ = self.concat_proj(both)
            return both
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, ParallelCall):
            rows = [event for event in events if event.row.kind == ROW]
            wrong = [event for event in rows if judge(event) is Verdict.WRONG]
            if wrong:
                event = first_certain(wrong)
                yield self._finding(analysis, event or wrong[0], decided=event is not None)
            elif rows and all(judge(event) is Verdict.UNKNOWN for event in rows):
                yield self._undecided(rows[0])

    def _finding(self, analysis: Analysis, event: ParallelCall, decided: bool) -> Finding:
        told = believes_split(event)
        built = event.layer.made_at
        calls = [other for other in analysis.log.events if type(other) is ParallelCall]
        swap = _swapped(event, [other for other in calls if other.stack == event.stack]) if told else None
        keeps = _gathering(event, calls, analysis) if told and swap is None else None
        return self.finding(
            site_place(event.site),
            object=owner_name(event),
            evidence=(
                *evidence(why(event.given)),
                at(
                    built,
                    tr(
                        "`%(layer)s` is built with input_is_parallel=%(told)s",
                        layer=label(event.layer),
                        told=told,
                    ),
                ),
            ),
            fix=_keep_shares(keeps) if keeps else _flip(event, told, calls) if swap is None else None,
            decided=decided,
            advice=_KEEP if keeps else swap,
            producer=label(keeps.layer) if keeps else "",
            there=keeps.layer.made_at.node.lineno if keeps else 0,
            layer=label(event.layer),
            told=told,
            state=tr("full: every rank holds the whole last dimension")
            if told
            else tr("already split across the TP ranks"),
            right=not told,
            line=built.node.lineno,
        )

    def _undecided(self, event: ParallelCall) -> Finding:
        return self.finding(
            site_place(event.site),
            object=owner_name(event),
            evidence=evidence(why(event.given)),
            decided=False,
            message="the TP state of the input of `%(layer)s` cannot be told",
            advice="",
            layer=label(event.layer),
        )


_KEEP = (
    "Write `gather_output=False` where `%(producer)s` is built (line %(there)d): each rank keeps its share, which is "
    "what `%(layer)s` takes."
)


def _gathering(event: ParallelCall, calls: list[ParallelCall], analysis: Analysis) -> ParallelCall | None:
    """The call whose gathered output goes to a row layer and nowhere else, with nothing between that needs it whole."""
    given = event.given
    if (
        not isinstance(given, Tensor)
        or given.role != "gathered"
        or not analysis.interpreter.used_once(given.tag)
    ):
        return None
    lines = {(step.path, step.line) for step in (given.why.chain() if given.why is not None else ())}
    found = [
        call
        for call in calls
        if call.row.kind == COLUMN
        and call.owner is event.owner
        and (call.site.module.display, call.site.node.lineno) in lines
    ]
    layers = {call.layer.made_at.key for call in found}
    places = {call.site.key for call in calls if call.layer.made_at.key in layers}
    return found[0] if len(layers) == len(places) == 1 and _gather_flag(found[0]) is not None else None


def _gather_flag(call: ParallelCall) -> ast.Constant | None:
    """The `True` of `gather_output=True` where a layer is built."""
    node = call.layer.made_at.node
    words = node.keywords if isinstance(node, ast.Call) else []
    values = [word.value for word in words if word.arg == "gather_output"]
    return values[0] if values and isinstance(values[0], ast.Constant) and values[0].value is True else None


def _keep_shares(producer: ParallelCall) -> Fix | None:
    flag = _gather_flag(producer)
    return safe(replace(producer.layer.made_at.module, flag, "False")) if flag is not None else None


def _flip(event: ParallelCall, told: bool | None, calls: list[ParallelCall]) -> Fix | None:
    """Change the constant at the place that builds the layer.

    None where the flag is not written there, or where the same place builds layers that need it as it is.
    """
    built = event.layer.made_at
    if not isinstance(built.node, ast.Call):
        return None
    alike = [other for other in calls if other.layer.made_at.key == built.key]
    if any(judge(other) is Verdict.RIGHT or believes_split(other) != told for other in alike):
        return None
    for keyword in built.node.keywords:
        if keyword.arg == "input_is_parallel" and isinstance(keyword.value, ast.Constant):
            return safe(replace(built.module, keyword.value, str(not told)))
    return None


def _swapped(event: ParallelCall, calls: list[ParallelCall]) -> str | None:
    """What to type where two layers of a gated MLP have each other's place; None where that is not shown.

    Two layers take the input and one takes their product. Shown by the sizes: the row layer is as wide as the first
    one and a column layer leads back, or the row layer leads back and is called before a column layer like the first.
    """
    row, columns = _sizes(event), {call.layer.made_at.key: call for call in calls if call.row.kind == COLUMN}
    if row is None or row[0] == row[1] or len(columns) != 2:
        return None
    first, other = columns.values()  # in the order in which they are called
    name, partner = label(event.layer), label(other.layer)
    if _sizes(first) == row and _sizes(other) == row[::-1]:
        return tr(
            "`%(name)s` and `%(partner)s` have each other's roles: build `%(name)s` as "
            "`ColumnParallelLinear(…, gather_output=False)` and `%(partner)s` as "
            "`RowParallelLinear(…, input_is_parallel=True)`.",
            name=name,
            partner=partner,
        )
    if _sizes(first) == _sizes(other) == row[::-1] and calls.index(event) < calls.index(other):
        return tr(
            "`%(name)s` and `%(partner)s` are called in each other's place: call `%(partner)s` on "
            "the input, and `%(name)s` on the product.",
            name=name,
            partner=partner,
        )
    return None


def _sizes(call: ParallelCall) -> tuple[Poly, Poly] | None:
    takes, gives = size(call.layer, call.row, 0), size(call.layer, call.row, 1)
    return (takes, gives) if takes is not None and gives is not None else None
