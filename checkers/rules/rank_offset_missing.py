"""E7122"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import size_axes
from ..spmd.frames import Frame, functions
from ..spmd.names import TP
from ..tpstate.parameter_events import FirstPartTaken, LookedUp
from ..tpstate.values import poly_of
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, place_of, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RankOffsetMissing(Rule):
    """A table that every rank holds whole is cut by the length of one rank's part, at the start on every rank."""

    code, symbol = "E7122", "rank-offset-missing"
    message = (
        "`%(cut)s` takes the first %(length)s of %(whole)s on every rank: the other parts are used by none"
    )
    advice = (
        "Start at the rank's own place: `rank = parallel_state.get_tensor_model_parallel_rank()`, and from "
        "`rank * %(length)s` on."
    )
    why = "Rank r works on the r-th part of what is split beside it; the table's part must be the same one."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; ranks above 0 use the numbers of rank 0"
    limits = "Only where the table's size is followed, and the length is that size divided by the TP size."
    guide = "beyond the guide"
    bad = """
    import torch
    from megatron.core import parallel_state
    from torch import nn


    class Slopes(nn.Module):
        def __init__(self, heads):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert heads % tp == 0
            self.slopes = torch.ones(heads)
            self.own = heads // tp

        def forward(self, scores):
            return scores + self.slopes[: self.own].view(1, -1, 1, 1)  # [rank-offset-missing]
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from torch import nn


    class Slopes(nn.Module):
        def __init__(self, heads):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            assert heads % tp == 0
            self.slopes = torch.ones(heads)
            self.own = heads // tp

        def forward(self, scores):
            rank = parallel_state.get_tensor_model_parallel_rank()
            first = rank * self.own
            return scores + self.slopes[first : first + self.own].view(1, -1, 1, 1)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for looks in by_site(analysis.log.events, LookedUp):
            look = first_certain(looks)
            if look is not None:
                yield self.finding(
                    site_place(look.site),
                    object=owner_name(look),
                    evidence=evidence(why(look.tensor)),
                    message="one rank's part of a split dimension is indexed by numbers of the whole dimension",
                    advice=tr(
                        "Subtract the start of the rank's part, `rank * width`, from the index, and mask what lies "
                        "outside."
                    ),
                )
        for frame in functions(analysis.project, _CUTS, _SIZES):
            for call, length in _first_parts(frame):
                yield self.finding(
                    place_of(frame.module, call),
                    object=frame.function_name,
                    message="`%(cut)s` takes the part of rank 0 on every rank",
                    cut=as_code(call),
                    length=length,
                    advice=tr("Begin at the rank times the length: `rank * length`."),
                )
        for events in by_site(analysis.log.events, FirstPartTaken):
            event = first_certain(events)
            if event is not None:
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    cut=ast.unparse(event.site.node),
                    length=_length(event),
                    whole=str(poly_of(event.whole)),
                )


def _length(event: FirstPartTaken) -> str:
    """The length as the code writes it."""
    node = event.site.node
    if isinstance(node, ast.Call):
        return ast.unparse(node.args[-1])
    parts = node.slice if isinstance(node, ast.Subscript) else None
    cuts = parts.elts if isinstance(parts, ast.Tuple) else [parts]
    uppers = [part.upper for part in cuts if isinstance(part, ast.Slice) and part.upper is not None]
    return ast.unparse(uppers[0]) if uppers else str(poly_of(event.length))


_CUTS = re.compile(r"narrow\(|range\w*\(|_range|part\w*\(|shard\w*\(")
_SIZES = re.compile(r"size|world")
_RANKS = re.compile(r"(\w+_)?rank")
_COUNTS = re.compile(r"(\w+_)?(world(_size)?|size|ranks)")


def _first_parts(frame: Frame) -> Iterator[tuple[ast.Call, str]]:
    """`x.narrow(dim, 0, n // size)`, and a function of the tree that is given rank 0 and the size of a group."""
    for call in frame.scope.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "narrow" and len(call.args) == 3:
            if as_code(call.args[1]) == "0" and _is_share(call.args[2], frame):
                yield call, as_code(call.args[2])
            continue
        inner = frame.callee(call)
        if inner is None:
            continue
        own = {name: value for name, (value, where) in inner.given.items() if where is frame}
        ranks = [value for name, value in own.items() if _RANKS.fullmatch(name)]
        sizes = [value for name, value in own.items() if _COUNTS.fullmatch(name)]
        if len(ranks) == len(sizes) == 1 and as_code(ranks[0]) == "0" and size_axes(sizes[0], frame) == TP:
            function = inner.scope.function
            text = inner.module.text_of(function) if function is not None else ""
            if re.search(r"\brank \* |\* rank\b", text):
                yield call, as_code(call)


def _is_share(node: ast.expr, frame: Frame) -> bool:
    held = frame.definitions(node) if isinstance(node, ast.Name) else [(node, frame)]
    value, where = held[0] if len(held) == 1 else (node, frame)
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.FloorDiv)
        and size_axes(value.right, where) == TP
    )
