"""E7715"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External, Project, dotted_name
from ..project.sequence_regions import GATHER, RegionCall, SequenceRegions, torch_layers
from ..rule import Rule, Symptom
from ..tpstate.fixes import add_keyword, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SpGatherGradOfReplicated(Rule):
    """A gathered sequence feeds layers that every rank computes alike, and its gradient is summed over the ranks."""

    code, symbol = "E7715", "sp-gather-grad-of-replicated"
    message = (
        "`%(value)s` is gathered for `%(layer)s`, which every rank computes alike: the gradient of the gather sums tp "
        "equal parts and is tp times too large"
    )
    advice = "Write `gather_from_sequence_parallel_region(%(value)s, tensor_parallel_output_grad=False)`."
    why = (
        "By default the gradient of the gather is reduce-scattered, which is right in front of column-parallel layers, "
        "where each rank has a part of it. Behind a replicated layer each rank has all of it."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; gradients below the gather are tp times too large under sequence parallelism"
    limits = (
        "Only where all that the gathered value reaches in its function are torch operations and torch layers, or "
        "where it enters a function that is named as a loss."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Gradients below the gather become tp times smaller."

    bad = """
    from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
    from torch import nn


    class First(nn.Module):
        def __init__(self, dim, classes, config):
            super().__init__()
            self.sp = config.sequence_parallel
            self.head = nn.Linear(dim, classes)

        def forward(self, x):
            if self.sp:
                x = gather_from_sequence_parallel_region(x)  # [sp-gather-grad-of-replicated]
            return self.head(x[0])
    """
    good = """
    from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
    from torch import nn


    class First(nn.Module):
        def __init__(self, dim, classes, config):
            super().__init__()
            self.sp = config.sequence_parallel
            self.head = nn.Linear(dim, classes)

        def forward(self, x):
            if self.sp:
                x = gather_from_sequence_parallel_region(x, tensor_parallel_output_grad=False)
            return self.head(x[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for call in analysis.project.knowledge(SequenceRegions).calls:
            if call.name != GATHER or call.target is None or call.own_group or _has_flag(call.node):
                continue
            layer = _only_linear(analysis.project, call, call.target) or _loss(call, call.target)
            if layer is not None:
                yield self.finding(
                    place_of(call.cls.module, call.node),
                    object=call.cls.name,
                    evidence=(
                        Evidence(
                            call.cls.module.display,
                            layer.lineno,
                            tr("`%(layer)s` is not split", layer=ast.unparse(layer.func)),
                        ),
                    ),
                    fix=unsafe(add_keyword(call.cls.module, call.node, "tensor_parallel_output_grad=False")),
                    value=call.target,
                    layer=ast.unparse(layer.func),
                )


def _has_flag(node: ast.Call) -> bool:
    return len(node.args) > 1 or any(
        keyword.arg in ("tensor_parallel_output_grad", None) for keyword in node.keywords
    )


_LOSS = re.compile(r"(?i)(\w*_)?loss(_fn|_func)?")


def _loss(call: RegionCall, value: str) -> ast.Call | None:
    """The loss that a gathered value enters, which every rank computes alike."""
    for node in ast.walk(call.function):
        if isinstance(node, ast.Call) and node.lineno > call.node.lineno:
            name = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
            if _LOSS.fullmatch(name) and any(dotted_name(argument) == value for argument in node.args):
                return node
    return None


def _only_linear(project: Project, call: RegionCall, value: str) -> ast.Call | None:
    """The nn.Linear that a gathered value reaches, where nothing else of weight does."""
    made = torch_layers(project, call.cls)
    reached: ast.Call | None = None
    for node in ast.walk(call.function):
        if not isinstance(node, ast.Call) or node is call.node or node.lineno < call.node.lineno:
            continue
        if not any(dotted_name(part) == value for argument in node.args for part in ast.walk(argument)):
            continue
        name = dotted_name(node.func) or ""
        ref = project.resolve(call.cls.module, name) if name else None
        if made.get(name) == "torch.nn.Linear":
            reached = reached or node
        elif name not in made and not (isinstance(ref, External) and ref.dotted.startswith("torch.")):
            return None
    return reached
