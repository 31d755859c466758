"""E7611"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.parameter_events import Divided, ParameterMarked
from ..tpstate.symbols import Poly
from ..tpstate.values import PER_RANK, Sym, poly_of
from ..tpstate.verdicts import by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_UNSURE = re.compile(r"#\d+$|per_|local|partition|shard|rank|_tp\b")


class PartitionMarkWrong(Rule):
    """The mark of a sharded parameter names another dimension than the one that was cut, or nothing was cut."""

    code, symbol = "E7611", "partition-mark-wrong"
    message = "a parameter of sizes (%(sizes)s) is marked as cut along dimension %(dim)s, and %(truth)s"
    advice = "%(typed)s"
    fix_kind = "unsafe"
    fix_note = "The parameter may be cut along another dimension than its mark says, or its mark be wrong."
    why = (
        "Checkpoints, gradient norms and weight loading read `tensor_model_parallel` and `partition_dim`: they join "
        "the parts along the dimension that is named, and take what every rank holds whole for parts."
    )
    symptom = Symptom.CRASH
    runtime = (
        "a checkpoint of joined weights does not fit; a whole parameter counts tp times in the gradient norm"
    )
    limits = "Only where every size of the parameter is followed, with the division by the TP size."
    guide = "beyond the guide"
    bad = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
    from torch import nn


    class Bank(nn.Module):
        def __init__(self, entries, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.bank = nn.Parameter(torch.empty(entries, width // tp))
            set_tensor_model_parallel_attributes(self.bank, True, 0, 1)  # [partition-mark-wrong]

        def forward(self, x):
            return x @ self.bank
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
    from torch import nn


    class Bank(nn.Module):
        def __init__(self, entries, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.bank = nn.Parameter(torch.empty(entries, width // tp))
            set_tensor_model_parallel_attributes(self.bank, True, 1, 1)

        def forward(self, x):
            return x @ self.bank
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        divided = {poly_of(event.top) for event in analysis.log.events if isinstance(event, Divided)}
        for events in by_site(analysis.log.events, ParameterMarked):
            event = first_certain([event for event in events if _is_wrong(event, divided)])
            cut = _cut(event) if event is not None else None
            if event is None or cut is None:
                continue
            if not event.is_cut:
                yield self._called_whole(event, cut[0])
                continue
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                fix=_edited(event, "dim", 2, str(cut[0])) if cut else None,
                sizes=", ".join(str(poly_of(size)) for size in event.sizes),
                dim=event.dim,
                truth=tr("dimension %(cut)s is the one that was divided", cut=cut[0])
                if cut
                else tr("every rank holds all of it"),
                typed=(
                    tr(
                        "Mark dimension %(cut)s: that is the one whose size is divided by the TP size.",
                        cut=cut[0],
                    )
                    if cut
                    else tr("Keep one rank's part of it, cut along that dimension, or leave the mark out.")
                ),
            )

    def _called_whole(self, event: ParameterMarked, cut: int) -> Finding:
        return self.finding(
            site_place(event.site),
            object=owner_name(event),
            message="a parameter of sizes (%(sizes)s) is marked as whole, and dimension %(cut)s was divided",
            sizes=", ".join(str(poly_of(size)) for size in event.sizes),
            cut=cut,
            fix=_edited(event, "is_parallel", 1, "True"),
            typed=tr("Mark it with `is_parallel=True`."),
        )


def _edited(event: ParameterMarked, name: str, place: int, text: str) -> Fix | None:
    """Another value for one argument of the call that marks."""
    call = event.site.node
    if not isinstance(call, ast.Call):
        return None
    given = [keyword.value for keyword in call.keywords if keyword.arg == name] or call.args[
        place : place + 1
    ]
    return unsafe(replace(event.site.module, given[0], text)) if given else None


def _is_wrong(event: ParameterMarked, divided: set[Poly | None]) -> bool:
    """Whether the dimension that is named was not cut; of a whole one the code must divide its size somewhere."""
    cut = _cut(event)
    if not event.is_cut:
        return bool(cut)
    if cut is None or event.dim in cut:
        return False
    return bool(cut) or poly_of(event.sizes[event.dim]) in divided


def _cut(event: ParameterMarked) -> list[int] | None:
    """The dimensions that were divided; None where a size is not known."""
    found = []
    for at, size in enumerate(event.sizes):
        poly = poly_of(size)
        if poly is None:
            return None
        if isinstance(size, Sym) and PER_RANK in size.tags:
            found.append(at)
        elif any(map(_UNSURE.search, poly.atoms())):
            return None
    return found
