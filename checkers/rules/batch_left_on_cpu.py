"""E7556"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.batch_items import item_of, moved_by, taken
from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.project import dotted_name
from ..project.scopes import Scope as Names
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BatchLeftOnCpu(Rule):
    """One item of the batch is brought to the device, and another stays on the CPU."""

    code, symbol = "E7556", "batch-left-on-cpu"
    message = "`%(item)s` stays on the CPU, and `%(other)s` of the same batch is brought to the device"
    advice = "Write `%(item)s%(move)s`."
    why = "A data loader gives tensors of the CPU. What the model or the loss takes must lie where the weights are."
    symptom = Symptom.CRASH
    runtime = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices"
    limits = (
        "Items of one batch, by their numbers or unpacked, where another item of the step is moved in sight."
    )
    guide = "3.2 forward_step_func"
    fix_kind = "unsafe"
    fix_note = "The model may bring its own input to the device."

    bad = """
    from functools import partial
    from megatron.training import pretrain
    from steps import datasets, l1, model_provider


    def forward_step(data_iterator, model):
        batch = next(data_iterator)
        field = batch[0].float()  # [batch-left-on-cpu]
        label = batch[1].cuda().float()
        return model(field), partial(l1, label)


    pretrain(datasets, model_provider, None, forward_step)
    """
    good = bad.replace("batch[0].float()  # [batch-left-on-cpu]", "batch[0].cuda().float()")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                reads = {
                    id(read.node) for read in data_reads(script, step) if read.scope.function is step.function
                }
                used = list(_used(script, step)) if reads else []
                known = [(value, moved_by(value, step, reads)) for value in used]
                other = next((pair for pair in known if pair[1]), None)
                for value, move in known if other is not None else ():
                    found = item_of(value, step, reads)
                    if (
                        move == ""
                        and found is not None
                        and isinstance(found[1], ast.Subscript)
                        and other is not None
                    ):
                        yield self.finding(
                            place_of(step.module, found[1]),
                            object=step.function.name if step.function is not None else "",
                            evidence=(at(Site(step.module, other[0]), tr("what is brought to the device")),),
                            fix=unsafe(insert_after(step.module, found[1], str(other[1]))),
                            item=ast.unparse(found[1]),
                            other=ast.unparse(other[0]),
                            move=other[1],
                        )


def _used(script: TrainingScript, step: Names) -> Iterator[ast.expr]:
    """What the model is called with, what a `partial` binds, and what the loss function reads."""
    model = (step.parameters or [""])[1:2]
    for node in step.nodes:
        if isinstance(node, ast.Call) and [dotted_name(node.func)] == model:
            yield from node.args
        elif isinstance(node, ast.Call) and (dotted_name(node.func) or "").rsplit(".", 1)[-1] == "partial":
            yield from node.args[1:]
    for binding in loss_bindings(script, step):
        yield from taken(binding.loss, step)
