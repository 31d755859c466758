"""E7317"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import FLAG_LEFT_OUT, Checkpointed
from ..tpstate.fixes import insert_before, safe
from ..tpstate.verdicts import by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CheckpointFlagMissing(Rule):
    """Megatron's activation checkpoint is called like torch's: the flag before the tensors is left out."""

    code, symbol = "E7317", "checkpoint-flag-missing"
    message = "Megatron's `checkpoint` takes a flag after the function, and `%(given)s` is given in its place"
    advice = "Write `%(typed)s`."
    why = (
        "Its second parameter is `distribute_saved_activations`. A tensor there is taken for the flag, and the "
        "function is called with one argument too few."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: forward() missing 1 required positional argument, or: Boolean value of Tensor is ambiguous"
    limits = "Silent where the second argument cannot be told, and for torch.utils.checkpoint, which has no such flag."
    guide = "beyond the guide"
    fix_kind = "safe"
    fix_note = (
        "The call fails as it is, and False is what Megatron means where it does not distribute activations."
    )

    bad = """
    from megatron.core import tensor_parallel
    from torch import nn


    class Middle_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def forward(self, x):
            return tensor_parallel.checkpoint(self.fuser, x)  # [checkpoint-flag-missing]
    """
    good = """
    from megatron.core import tensor_parallel
    from torch import nn


    class Middle_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def forward(self, x):
            return tensor_parallel.checkpoint(self.fuser, False, x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for found in by_site(analysis.log.events, Checkpointed):
            event = first_certain([event for event in found if event.bad == FLAG_LEFT_OUT])
            node = event.site.node if event is not None else None
            if event is not None and isinstance(node, ast.Call) and len(node.args) > 1:
                function, *rest = (ast.unparse(argument) for argument in node.args)
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    fix=safe(insert_before(event.site.module, node.args[1], "False, ")),
                    given=rest[0],
                    typed=f"{ast.unparse(node.func)}({', '.join([function, 'False', *rest])})",
                )
