"""W7129"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.parameter_events import RawColumn
from ..tpstate.verdicts import by_site, evidence, first_certain, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_REDUCES = re.compile(r"reduce_from_(tensor_)?model_parallel_region\(")
_COPIES = re.compile(r"copy_to_(tensor_)?model_parallel_region\(|\.all_reduce\(|register_hook\(")


class ColumnInputNotCopied(Rule):
    """A whole input meets a hand-written shard of a weight without the copy that sums its gradient."""

    code, symbol = "W7129", "column-input-not-copied"
    message = "the input of `%(cls)s` meets one rank's part of a weight, and nothing sums its gradient over the ranks"
    advice = "Copy the input first: `x = copy_to_tensor_model_parallel_region(x)`, whose backward is an all-reduce."
    why = (
        "Each rank's part of the weight gives a part of the gradient of the input. `reduce_from…` at the end sums the "
        "outputs only; the copy at the beginning is its mirror, and sums the gradients."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "the forward is right; all that lies before gets a part of its gradient, another one on each rank"
    )
    limits = (
        "Only for an argument of `forward` that reaches the product unchanged in kind, in classes that reduce their "
        "output by a region function, and where neither they nor the classes that build them copy or reduce by hand."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import (
        copy_to_tensor_model_parallel_region,
        reduce_from_tensor_model_parallel_region,
    )
    from torch import nn


    class Wide(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.up = nn.Parameter(torch.empty(hidden // tp, dim))
            self.down = nn.Parameter(torch.empty(dim, hidden // tp))
            self.up.tensor_model_parallel = self.down.tensor_model_parallel = True

        def forward(self, x):
            x = x.contiguous()
            hidden = F.gelu(F.linear(x, self.up))  # [column-input-not-copied]
            return reduce_from_tensor_model_parallel_region(F.linear(hidden, self.down))
    """
    good = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import (
        copy_to_tensor_model_parallel_region,
        reduce_from_tensor_model_parallel_region,
    )
    from torch import nn


    class Wide(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.up = nn.Parameter(torch.empty(hidden // tp, dim))
            self.down = nn.Parameter(torch.empty(dim, hidden // tp))
            self.up.tensor_model_parallel = self.down.tensor_model_parallel = True

        def forward(self, x):
            x = copy_to_tensor_model_parallel_region(x)
            hidden = F.gelu(F.linear(x, self.up))
            return reduce_from_tensor_model_parallel_region(F.linear(hidden, self.down))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        seen: set[int] = set()
        for events in by_site(analysis.log.events, RawColumn):
            cut = next((event for event in events if event.tensor.tag == "uncopied" and event.settled), None)
            if cut is not None and cut.owner is not None and id(cut.owner) not in seen:
                seen.add(id(cut.owner))
                yield self.finding(
                    site_place(cut.site),
                    object=cut.owner.name,
                    evidence=evidence(why(cut.tensor)),
                    cls=cut.owner.name,
                )
                continue
            raw = [event for event in events if event.tensor.tag == "argument" and event.owner is event.root]
            event = first_certain(raw)
            if event is None or event.owner is None or id(event.owner) in seen:
                continue
            if _REDUCES.search(event.owner.text) and not _copied(analysis.project, event.owner):
                seen.add(id(event.owner))
                yield self.finding(site_place(event.site), object=event.owner.name, cls=event.owner.name)


def _copied(project: Project, cls: ClassFacts) -> bool:
    """Whether the class, or one that names it, copies its input or reduces gradients by hand."""
    if _COPIES.search(cls.text):
        return True
    named = re.compile(rf"\b{cls.name}\b")
    return any(
        _COPIES.search(other.text) and named.search(other.text)
        for other in project.classes()
        if other is not cls
    )
