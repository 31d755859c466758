"""E7738"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_READS = re.compile(r"getattr\(\w+, [\"']sequence_parallel[\"']")


class MarkedGradientsUnsummed(Rule):
    """The function that sums the gradients of parameters marked `sequence_parallel` is never called."""

    code, symbol = "E7738", "marked-gradients-unsummed"
    message = (
        "nothing calls `%(name)s`, which sums the gradients of the parameters marked `sequence_parallel`"
    )
    advice = "Call `%(name)s` after the backward pass, before the gradients are clipped."
    why = "Under sequence parallelism a norm sees a part of the tokens on each rank; its gradient is a part of a sum."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; norms and routers drift apart between the tensor-parallel ranks"
    limits = "Only where the tree has such a function of its own, and its name stands nowhere else."
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def sum_marked(model):  # [marked-gradients-unsummed]
        for p in model.parameters():
            if getattr(p, "sequence_parallel", False):
                dist.all_reduce(p.grad, group=parallel_state.get_tensor_model_parallel_group())


    def step(model, optimizer):
        optimizer.step()
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def sum_marked(model):
        for p in model.parameters():
            if getattr(p, "sequence_parallel", False):
                dist.all_reduce(p.grad, group=parallel_state.get_tensor_model_parallel_group())


    def step(model, optimizer):
        sum_marked(model)
        optimizer.step()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        if not any(".step(" in module.text for module in project.modules):
            return
        for frame in functions(project, re.compile("sequence_parallel"), re.compile(r"\.grad\b")):
            function = frame.scope.function
            if not isinstance(function, ast.FunctionDef) or project.is_framework(frame.module):
                continue
            text = frame.module.text_of(function)
            if not _READS.search(text) or ".grad" not in text or "reduce" not in text:
                continue
            named = re.compile(rf"\b{function.name}\b")
            if sum(len(named.findall(module.text)) for module in project.modules) == 1:
                yield self.finding(place_of(frame.module, function), object=function.name, name=function.name)
