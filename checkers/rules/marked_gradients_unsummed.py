"""E7738"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..spmd.uses import Uses
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_READS = re.compile(r"getattr\(\w+, [\"']sequence_parallel[\"']")


_REPLICAS = re.compile(r"get_data_parallel_group\(")
_SUMS = re.compile(r"sequence_parallel|get_data_parallel_group")
_DDP = re.compile(r"DistributedDataParallel|\bDDP\b|finalize_model_grads|allreduce_grad|FSDP|fully_shard")


def _has_ddp(project: Project) -> bool:
    """Whether something else may sum the gradients of the replicas."""
    return any(module.says(_DDP) for module in project.modules)


class MarkedGradientsUnsummed(Rule):
    """The function that sums the gradients of replicas, or of parameters marked `sequence_parallel`, never runs."""

    code, symbol = "E7738", "marked-gradients-unsummed"
    message = "nothing runs `%(name)s`, which sums the gradients %(what)s"
    advice = "Call `%(name)s` after the backward pass, before the gradients are clipped."
    why = "Under sequence parallelism a norm sees a part of the tokens on each rank; its gradient is a part of a sum."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; norms and routers drift apart between the tensor-parallel ranks"
    limits = (
        "Only where the tree has such a function of its own, and its name stands nowhere, or only in functions that "
        "nothing calls; or where every call gives False for the parameter without which it returns at once."
    )
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
        for frame in functions(project, _SUMS, re.compile(r"\.grad\b")):
            function = frame.scope.function
            if not isinstance(function, ast.FunctionDef) or project.is_framework(frame.module):
                continue
            text = frame.module.text_of(function)
            if ".grad" not in text or "reduce" not in text:
                continue
            marked = _READS.search(text) is not None
            if not marked and not (_REPLICAS.search(text) and not project.knowledge(_has_ddp)):
                continue
            if project.knowledge(Uses).never_runs(frame):
                yield self.finding(
                    place_of(frame.module, function),
                    object=function.name,
                    name=function.name,
                    what=tr("of the parameters marked `sequence_parallel`")
                    if marked
                    else tr("of the replicas"),
                )
