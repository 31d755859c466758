"""E7321"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External
from ..rule import Rule, Symptom
from ..spmd.frames import Attributes, Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FUNCTIONAL = re.compile(r"F\.|functional")
_NO_MODULES = ("Parameter", "UninitializedParameter", "Buffer")


class ModuleGivenAsTensor(Rule):
    """A layer itself is given to a function that wants its weight."""

    code, symbol = "E7321", "module-given-as-tensor"
    message = "`%(call)s` wants a tensor as its weight and gets the module `%(name)s`"
    advice = "Call the layer, `%(name)s(…)`; a parallel one returns its output and its bias."
    why = (
        "The functions of torch take tensors. A layer in their place is left over from a class that kept its weight as "
        "a parameter, and a parallel layer does more than a product: it gathers or reduces."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: linear(): argument 'weight' (position 2) must be Tensor, not ColumnParallelLinear"
    limits = "Attributes that every assignment of the class builds as a module."
    guide = "beyond the guide"

    bad = """
    import torch.nn.functional as F
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Edges(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.project = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False, gather_output=True
            )

        def forward(self, x):
            return F.linear(x, self.project)  # [module-given-as-tensor]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Edges(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.project = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False, gather_output=True
            )

        def forward(self, x):
            return self.project(x)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _FUNCTIONAL):
            for node in frame.scope.calls:
                if len(node.args) < 2 or not _wants_weight(node, frame):
                    continue
                given = node.args[1]
                made = _module(given, frame)
                if made is not None and isinstance(given, ast.Attribute):
                    yield self.finding(
                        place_of(frame.module, given),
                        object=frame.cls.name if frame.cls is not None else "",
                        evidence=(
                            Evidence(
                                made[1].display,
                                made[0].lineno,
                                tr("`%(name)s` is built here", name=ast.unparse(given)),
                            ),
                        ),
                        call=ast.unparse(node.func),
                        name=ast.unparse(given),
                    )


def _wants_weight(node: ast.Call, frame: Frame) -> bool:
    dotted = frame.external(node.func)
    return dotted.startswith("torch.nn.functional.") and dotted.rsplit(".", 1)[-1] in _TAKE_WEIGHTS


_TAKE_WEIGHTS = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
)


def _module(node: ast.expr, frame: Frame) -> tuple[ast.Call, ModuleFacts] | None:
    """Where `self.layer` is built, if every assignment of the class builds a module."""
    if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "self" or frame.cls is None:
        return None
    held = frame.project.knowledge(Attributes).of(frame.cls).get(node.attr, [])
    for value, scope in held:
        where = Frame(frame.project, scope, frame.cls)
        if not isinstance(value, ast.Call) or not _is_module(value, where):
            return None
    first = held[0] if held else None
    return (first[0], first[1].module) if first is not None and isinstance(first[0], ast.Call) else None


def _is_module(call: ast.Call, frame: Frame) -> bool:
    ref = frame.ref(call.func)
    if isinstance(ref, ClassFacts):
        return frame.project.is_module_class(ref)
    last = ref.dotted.rsplit(".", 1)[-1] if isinstance(ref, External) else ""
    is_torch = isinstance(ref, External) and ref.dotted.startswith("torch.nn.") and last[:1].isupper()
    return (is_torch or last.endswith("ParallelLinear")) and last not in _NO_MODULES
