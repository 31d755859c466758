"""W7509"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.data_reads import MIDDLE, DataRead, data_reads
from ..project.scopes import Scope
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_TELLS_FIRST = re.compile(r"is_pipeline_first_stage|get_pipeline_model_parallel_rank")


class DataReadOnEveryStage(Rule):
    """The pipeline stages between the first and the last read data that they do not need."""

    code, symbol = "W7509", "data-read-on-every-stage"
    message = (
        "`%(call)s` runs on every pipeline stage; only the first needs the input and only the last the labels"
    )
    advice = "%(hint)s"
    why = (
        "What a middle stage is given as its iterator depends on the framework: one of its own, whose reading is "
        "wasted, or None, or one that the chunks of an interleaved schedule share and that runs dry."
    )
    symptom = Symptom.HANG
    runtime = "The first validation step with an interleaved schedule never ends; otherwise every node reads all data."
    limits = (
        "Silent for two stages, where both need data; behind any other test, such as tensor-parallel rank 0 with a "
        "broadcast; and where nothing shows that the step runs in a pipeline."
    )
    guide = "Principle 11, trap 5: only the first stage reads data"

    bad = """
    from functools import partial
    from megatron.core import mpu
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)  # [data-read-on-every-stage]
        output = model(field.cuda().float() if mpu.is_pipeline_first_stage() else None)
        return output, partial(l2_loss, label.cuda().float())
    """
    good = """
    from functools import partial
    from megatron.core import mpu
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field = label = None
        if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
            field, label = next(data_iterator)
            field, label = field.cuda().float(), label.cuda().float()
        output = model(field)
        return output, partial(l2_loss, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                if not _has_middle_stage(script, step):
                    continue
                for read in data_reads(script, step):
                    if MIDDLE in read.where.stages and not read.where.is_open:
                        name = read.scope.function.name if read.scope.function is not None else ""
                        yield self.finding(
                            place_of(read.scope.module, read.node),
                            object=name,
                            call=ast.unparse(read.node),
                            hint=_guarded(read),
                        )


def _guarded(read: DataRead) -> str:
    """The guard, and what the stages in the middle then lack: the names that the read fills, and what uses them."""
    test = "if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():"
    names = [
        node.id
        for statement in read.scope.of(ast.Assign)
        if statement.value is read.node
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and node.id != "_"
    ]
    if not names:
        return tr(
            "Read under `%(test)s`, and let nothing behind it need the data on the other stages.", test=test
        )
    used = [
        tr(
            "`%(value)s.%(node)s` (line %(line)s)",
            value=ast.unparse(node.value),
            node=node.attr,
            line=node.lineno,
        )
        for node in read.scope.of(ast.Attribute, ast.Subscript)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
    ]
    moved = tr(", and move %(used)s under it too", used=", ".join(used[:3])) if used else ""
    return tr(
        "Write `%(names)s = None`, and read under `%(test)s`%(moved)s: the stages in the middle "
        "have no data.",
        names=" = ".join(names),
        test=test,
        moved=moved,
    )


def _has_middle_stage(script: TrainingScript, step: Scope) -> bool:
    """By the number of stages; where that is not known, a step that tells them apart needs no data on the others."""
    if script.num_stages is not None:
        return script.num_stages > 2
    if script.family is not None and script.family.complete:
        return len(script.family.stages) > 2
    return step.function is not None and _TELLS_FIRST.search(ast.unparse(step.function)) is not None
