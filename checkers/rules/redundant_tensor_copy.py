"""R7219"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import children
from ..finding import Edit, Finding, Fix
from ..language import tr
from ..project.boundary import Boundaries
from ..project.flow import Seen
from ..rule import Rule, Symptom
from ..spmd.forwards import forward_frames
from ..spmd.frames import Frame
from ..tpstate.fixes import replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RedundantTensorCopy(Rule):
    """One tensor is copied twice, or copied to read its shape."""

    code, symbol = "R7219", "redundant-tensor-copy"
    message = "`contiguous()` copies a tensor that line %(line)d has copied already"
    advice = "Share the first copy: `x = x.contiguous(); skip = x`."
    why = "Each copy of an activation is memory for the whole micro-batch, and time."
    symptom = Symptom.COST
    runtime = "twice the memory of the tensor"
    limits = (
        "Two `contiguous()` of one tensor, of which the first may copy nothing; `clone()` in a forward of a stage or a "
        "distributed module, where nothing but shape, type and device of the copy is read."
    )
    guide = "Principle 9 (memory): share the tensor"
    fix_kind = "safe"
    fix_note = (
        "Only where the first copy is stored in the line before and nothing writes into a tensor in place "
        "in this function: the two names then share one memory."
    )

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
            x = self.layer(x).transpose(1, 2)
            x1 = x.contiguous()
            x = x.contiguous()  # [redundant-tensor-copy]
            return x, x1
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
            x = self.layer(x).transpose(1, 2)
            x = x.contiguous()
            x1 = x
            return x, x1
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            for trace in flow.traces:
                for second, first in trace.copies:
                    if second.module is first.module:
                        yield self.finding(
                            place_of(second.module, second.node),
                            object=flow.stage.cls.name,
                            fix=_share(first, second),
                            line=getattr(first.node, "lineno", 0),
                        )
        for frame in forward_frames(analysis.project):
            for node in _only_measured(frame):
                yield self.finding(
                    place_of(frame.module, node),
                    object=frame.cls.name if frame.cls is not None else "",
                    fix=safe(replace(frame.module, node, ast.unparse(node.func.value))),  # type: ignore[attr-defined]
                    message=_MEASURED,
                    advice=tr("Read it from the tensor itself: no copy is needed for that."),
                    copy=ast.unparse(node),
                )


_MEASURED = "`%(copy)s` copies a whole tensor, and only its shape or type is read"
_ABOUT = frozenset("shape size dtype device ndim dim numel is_cuda requires_grad".split())


def _only_measured(frame: Frame) -> Iterator[ast.Call]:
    """Copies of which only the measures are read."""
    parents = {id(child): node for node in frame.scope.nodes for child in children(node)}
    for node in frame.scope.nodes:
        is_copy = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "clone"
        )
        if not isinstance(node, ast.Call) or not is_copy or node.args or node.keywords:
            continue
        around = parents.get(id(node))
        if isinstance(around, ast.Attribute):
            if around.attr in _ABOUT:
                yield node
        elif (
            isinstance(around, ast.Assign)
            and len(around.targets) == 1
            and isinstance(around.targets[0], ast.Name)
        ):
            name = around.targets[0].id
            uses = [
                part
                for part in frame.scope.of(ast.Name)
                if part.id == name and isinstance(part.ctx, ast.Load)
            ]
            holders = [parents.get(id(part)) for part in uses]
            if uses and all(
                isinstance(holder, ast.Attribute) and holder.attr in _ABOUT for holder in holders
            ):
                yield node


def _share(first: Seen, second: Seen) -> Fix | None:
    """Use the variable that holds the first copy, where the line before stores it."""
    line = getattr(first.node, "lineno", 0)
    found = re.match(r"\s*(\w+) = \w+\.contiguous\(\)\s*$", first.module.lines[line - 1])
    if found is None or getattr(second.node, "lineno", 0) != line + 1:
        return None
    edit = Edit(place_of(second.module, second.node), found[1])
    return Fix("unsafe" if _writes_in_place(second) else "safe", (edit,))


def _writes_in_place(seen: Seen) -> bool:
    """Whether a tensor may be changed in place in the function around: two names of one would both change."""
    around = [
        node
        for node in ast.walk(seen.module.tree)
        if isinstance(node, ast.FunctionDef) and any(part is seen.node for part in ast.walk(node))
    ]
    return any(_is_write(part) for function in around for part in ast.walk(function))


def _is_write(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr.endswith("_") and not node.func.attr.endswith("__")
    is_store = isinstance(getattr(node, "ctx", None), ast.Store)
    return isinstance(node, ast.AugAssign) or (isinstance(node, ast.Subscript) and is_store)
