"""R7214"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent
from ..project.origin import looks_like_mask
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StagePassesComputable(Rule):
    """A tensor made of sizes and constants crosses a boundary although every stage can compute it."""

    code, symbol = "R7214", "stage-passes-computable"
    message = "`%(cls)s` sends `%(name)s`, which is made of sizes and constants alone%(rounding)s"
    advice = "Compute it on the stage that needs it, from the constructor's arguments."
    why = (
        "Sizes, position indices and constants are known to every stage when the model is built. Sent in the "
        "activation dtype they are not even exact: bfloat16 holds integers up to 256, so 721 arrives as 720."
    )
    symptom = Symptom.COST
    runtime = "a send and a receive more for each micro-batch; in bfloat16 the sizes are rounded"
    limits = (
        "Only tensors made by a factory from numbers in the stage that sends them, and buffers that its constructor "
        "registers and nothing stores into."
    )
    guide = "Principle 11: what can be computed is not sent"

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
            B, N, C = x.shape
            x = self.layer(x)
            meta = torch.tensor([B, N, C], device=x.device, dtype=x.dtype)
            return x, meta  # [stage-passes-computable]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, meta = self.input_tensor
            return self.layer(x) * meta[0]
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
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) * skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            for sent in flow.sent() if flow.sends else ():
                made = sent.origin.kind == "tensor" and sent.origin.constant and sent.origin.dtype != "bool"
                if sent.count > 1 and (made or _is_buffer(flow.stage.cls, sent)):
                    exact = sent.origin.dtype in ("like", "half") and sent.origin.how == "tensor"
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        name=sent.name or tr("element %(index)s", index=sent.index),
                        rounding=tr(", in a dtype that rounds sizes above 256 (bfloat16)") if exact else "",
                    )


def _is_buffer(cls: ClassFacts, sent: Sent) -> bool:
    """Whether a stage sends a buffer of its own, through casts and views: what its constructor made stays the same."""
    node: ast.AST = sent.node
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            break
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
            return False
        node = node.func if isinstance(node, ast.Call) else node.value
    if not isinstance(node, ast.Attribute) or as_code(node.value) != "self" or looks_like_mask(node.attr):
        return False
    stored = [
        part
        for method in cls.methods.values()
        for part in walk(method)
        if isinstance(part, ast.Attribute)
        and (
            (part.attr == node.attr and isinstance(part.ctx, ast.Store))
            or (part.attr.endswith("_") and as_code(part.value) == as_code(node))
        )
    ]
    init = cls.methods.get("__init__")
    registered = [
        part
        for part in (walk(init) if init is not None else ())
        if isinstance(part, ast.Call) and as_code(part.func) == "self.register_buffer" and part.args
    ]
    names = [part.args[0].value for part in registered if isinstance(part.args[0], ast.Constant)]
    return not stored and node.attr in names
