"""R7549"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..project.scopes import Scope
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.called import Called, calls_of
from ..spmd.conditions import Atom, Known, decide
from ..spmd.frames import Frame
from ..spmd.names import TP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_OTHERS: Known = {Atom("tp", "0", TP): False}
_ASKS = re.compile(r"tensor_model_parallel_rank|tp_rank|get_rank|is_dataloader_rank")


class DatasetReadByOneRank(Rule):
    """Every tensor-parallel rank builds the dataset, and only the first of them reads it."""

    code, symbol = "R7549", "dataset-read-by-one-rank"
    message = (
        "`is_distributed = True` makes every tensor-parallel rank build the data of `%(provider)s`; only rank 0 of the "
        "group reads them (line %(line)d)"
    )
    advice = (
        "Leave `is_distributed` away, so that Megatron builds them on that rank, or return None from the provider on "
        "the others."
    )
    why = (
        "The other ranks get the batch by broadcast. What they build beside that is read, decoded and kept in the "
        "memory of the host for nothing, once for each tensor-parallel rank."
    )
    symptom = Symptom.COST
    runtime = "Start-up time, and the host's memory, times the tensor-parallel size."
    limits = (
        "Silent where the provider asks for its rank, and where any read of the step runs on the other ranks."
    )
    guide = "beyond the guide; 3.4 describes pretrain"

    bad = """
    import torch
    from functools import partial
    from losses import l2_loss
    from megatron.core import mpu
    from megatron.training import pretrain


    def datasets(sizes):
        return list(range(1000)), None, None


    def forward_step(data_iterator, model):
        field = torch.empty(2, 4, device="cuda")
        if mpu.get_tensor_model_parallel_rank() == 0:
            field.copy_(next(data_iterator))
        torch.distributed.broadcast(
            field, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group()
        )
        return model(field), partial(l2_loss, field)


    def main(model_provider):
        datasets.is_distributed = True  # [dataset-read-by-one-rank]
        pretrain(datasets, model_provider, None, forward_step)
    """
    good = """
    import torch
    from functools import partial
    from losses import l2_loss
    from megatron.core import mpu
    from megatron.training import pretrain


    def datasets(sizes):
        if mpu.get_tensor_model_parallel_rank() != 0:
            return None, None, None
        return list(range(1000)), None, None


    def forward_step(data_iterator, model):
        field = torch.empty(2, 4, device="cuda")
        if mpu.get_tensor_model_parallel_rank() == 0:
            field.copy_(next(data_iterator))
        torch.distributed.broadcast(
            field, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group()
        )
        return model(field), partial(l2_loss, field)


    def main(model_provider):
        datasets.is_distributed = True
        pretrain(datasets, model_provider, None, forward_step)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            provider = script.handed("train_valid_test_dataset_provider")
            if provider is None or provider.function is None or not script.forward_steps:
                continue
            name = provider.function.name
            marked = _marked(script, name)
            if marked is None or _ASKS.search(provider.module.text_of(provider.function)):
                continue
            reads = [read for step in script.forward_steps for read in _reads(analysis.project, step)]
            if (
                reads
                and all(_on_first_alone(read) for read in reads)
                and all(
                    "broadcast" in read.frame.module.text for read in reads
                )  # else E7551: they get no batch
            ):
                yield self.finding(
                    place_of(script.module, marked),
                    object=name,
                    evidence=(
                        Evidence(
                            reads[0].frame.module.display,
                            reads[0].node.lineno,
                            tr("only tensor-parallel rank 0 comes here"),
                        ),
                    ),
                    provider=name,
                    line=reads[0].node.lineno,
                )


def _marked(script: TrainingScript, name: str) -> ast.Assign | None:
    """`provider.is_distributed = True`"""
    for scope in script.scopes:
        for node in scope.of(ast.Assign):
            if ast.unparse(node.targets[0]) == f"{name}.is_distributed":
                if isinstance(node.value, ast.Constant) and node.value.value is True:
                    return node
    return None


def _reads(project: Project, step: Scope) -> Iterator[Called]:
    """Every `next(…)` of a step, and each use of the iterator that is not followed, as a read."""
    iterator = step.parameters[0] if step.parameters else ""
    for call in calls_of(Frame(project, step)):
        is_next = isinstance(call.node.func, ast.Name) and call.node.func.id == "next"
        is_given = call.frame.scope is step and any(
            isinstance(part, ast.Name) and part.id == iterator for arg in call.node.args for part in walk(arg)
        )
        if is_next or (is_given and call.frame.callee(call.node) is None):
            yield call


def _on_first_alone(read: Called) -> bool:
    return any(decide(formula, _OTHERS) is False for formula in read.formulas)
