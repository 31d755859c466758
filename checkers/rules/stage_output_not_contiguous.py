"""E7224"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageOutputNotContiguous(Rule):
    """A tensor is sent to the next stage although its memory is not contiguous."""

    code, symbol = "E7224", "stage-output-not-contiguous"
    message = "`%(cls)s` sends `%(name)s`, which comes from %(how)s and is not contiguous"
    advice = "Write `%(typed)s` in the return."
    why = (
        "NCCL sends raw storage. A transposed, permuted, expanded or sliced tensor shares the storage of "
        "another layout, and the receiver reads the numbers in the wrong order."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the next stage sees scrambled values, with no error"
    limits = "Only where the last operation is certain to leave another layout. Silent on last stages."
    guide = "beyond the guide"
    fix_kind = "safe"
    fix_note = "The same numbers in the order in which they are sent."

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            skip = x * 2
            x = x.transpose(1, 2)
            return x, skip  # [stage-output-not-contiguous]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """
    good = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            skip = x * 2
            x = x.transpose(1, 2).contiguous()
            return x, skip


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not flow.stage.family.ordered or flow.stage.is_last:
                continue
            for sent in flow.sent():
                if sent.origin.contiguous is False:
                    typed = _contiguous(sent)
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        fix=safe(replace(sent.seen.module, sent.node, typed)) if typed else None,
                        typed=typed or "x.contiguous()",
                        cls=flow.stage.cls.name,
                        name=sent.name or "x",
                        how=sent.origin.how or tr("a view"),
                    )


def _contiguous(sent: Sent) -> str:
    """The sent value made contiguous, where it is written in the return."""
    node = sent.node
    if not isinstance(node, ast.expr) or (sent.count > 1 and node is getattr(sent.seen.node, "value", None)):
        return ""
    text = ast.unparse(node)
    is_one = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{text if is_one else f'({text})'}.contiguous()"
