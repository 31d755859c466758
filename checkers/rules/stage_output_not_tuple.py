"""E7209"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageOutputNotTuple(Rule):
    """A stage sends several tensors in a list, dict or object instead of a tuple."""

    code, symbol = "E7209", "stage-output-not-tuple"
    message = "`%(cls)s` returns %(kind)s to the next stage"
    advice = "Return a tuple: `%(typed)s`."
    why = "The schedule sends the elements of a tuple one by one. It takes anything else for one tensor."
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'dict' object has no attribute 'shape' in the send"
    limits = "Only displays that the return statement can be traced to. Silent on last stages."
    guide = "1.3: must return a tuple"
    fix_kind = "unsafe"
    fix_note = "Whoever calls the stage may read the list or dict by other means."

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
            return {"x": x, "skip": x * 2}  # [stage-output-not-tuple]


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
            return x, x * 2


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
            for trace in flow.traces:
                for seen in trace.returns:
                    items = seen.origin.items or ()
                    tensors = [item for item in items if item.is_tensor]
                    kind = {"list": tr("a list"), "dict": tr("a dict"), "object": tr("an object")}.get(
                        seen.origin.kind
                    )
                    if kind and (len(tensors) > 1 or (seen.origin.kind != "list" and seen.origin.carries)):
                        typed = _as_tuple(seen.node)
                        yield self.finding(
                            place_of(seen.module, seen.node),
                            object=flow.stage.cls.name,
                            fix=unsafe(replace(seen.module, seen.node, typed)) if typed else None,
                            typed=typed or "return (x, skip)",
                            cls=flow.stage.cls.name,
                            kind=kind,
                        )


def _as_tuple(node: ast.AST) -> str:
    """The return with the values of its list or dict as a tuple; nothing where they are not written out."""
    value = node.value if isinstance(node, ast.Return) else None
    if isinstance(value, ast.Dict) and None not in value.keys:
        parts = value.values
    elif isinstance(value, ast.List) and not any(isinstance(part, ast.Starred) for part in value.elts):
        parts = value.elts
    else:
        return ""
    return f"return ({', '.join(map(ast.unparse, parts))}{',' * (len(parts) == 1)})"
