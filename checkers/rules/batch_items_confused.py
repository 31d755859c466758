"""E7541"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import is_none, walk
from ..finding import Finding
from ..language import tr
from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.project import dotted_name
from ..project.scopes import Opaque
from ..project.scopes import Scope as Names
from ..project.training import Training, TrainingScript
from ..rule import Rule, Scope, Symptom
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BatchItemsConfused(Rule):
    """The model is given the second item of a batch and the loss the first one."""

    code, symbol = "E7541", "batch-items-confused"
    message = "the model is given item %(given)s of the batch, and the loss compares with item %(label)s"
    advice = "Give the model the first item, `%(batch)s[0]`, and the loss the second, `%(batch)s[1]`."
    why = "The data sets of the guide return the input first and the label second."
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "the model learns to go back in time, or: sizes of tensors must match, where input and label differ"
    )
    limits = "Items taken by their numbers, or by unpacking the batch into two names, in scripts of stages."
    guide = "3.2 forward_step_func"
    scope = Scope.GUIDE

    bad = """
    from functools import partial
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])


    def l1(label, output):
        return (output - label).abs().mean(), None, {}


    def forward_step(data_iterator, model):
        batch = next(data_iterator)
        field = batch[1].cuda().float()  # [batch-items-confused]
        label = batch[0].cuda().float()
        return model(field), partial(l1, label)
    """
    good = """
    from functools import partial
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])


    def l1(label, output):
        return (output - label).abs().mean(), None, {}


    def forward_step(data_iterator, model):
        batch = next(data_iterator)
        field = batch[0].cuda().float()
        label = batch[1].cuda().float()
        return model(field), partial(l1, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps if script.drives_stages else ():
                reads = {id(read.node) for read in data_reads(script, step)}
                model = (step.parameters or [""])[1:2]
                inputs = [
                    node.args[0]
                    for node in step.nodes
                    if isinstance(node, ast.Call) and [dotted_name(node.func)] == model and node.args
                ]
                labels = [value for binding in loss_bindings(script, step) for value in binding.bound]
                for binding in loss_bindings(script, step):
                    labels += _taken(binding.loss, step)
                given = [found for value in inputs if (found := _item(value, step, reads)) is not None]
                wanted = [found for value in labels if (found := _item(value, step, reads)) is not None]
                same = len(given) == len(wanted) == 1 and given[0][0] == wanted[0][0]
                if same and wanted[0][0] == 1:
                    yield self.finding(
                        place_of(step.module, given[0][1]),
                        object=step.function.name if step.function is not None else "",
                        evidence=(at(Site(step.module, wanted[0][1]), tr("the label is taken here")),),
                        message="the input is item 1 of the batch, which is the label too: the model sees the answer",
                        advice="Give the model the input, item 0.",
                    )
                elif same and wanted[0][0] == 0 and _has_target(script):
                    yield self.finding(
                        place_of(step.module, wanted[0][1]),
                        object=step.function.name if step.function is not None else "",
                        evidence=(at(Site(step.module, given[0][1]), tr("the input is taken here")),),
                        message="the label is item 0 of the batch, which is the input too: the target is not used",
                        advice="Take the target, item 1, as the label.",
                    )
                if len(given) == 1 and len(wanted) == 1 and (given[0][0], wanted[0][0]) == (1, 0):
                    where, label = given[0][1], wanted[0][1]
                    batch = ast.unparse(where.value) if isinstance(where, ast.Subscript) else "batch"
                    yield self.finding(
                        place_of(step.module, where),
                        object=step.function.name if step.function is not None else "",
                        evidence=(at(Site(step.module, label), tr("the label is taken here")),),
                        given=1,
                        label=0,
                        batch=batch,
                    )


def _has_target(script: TrainingScript) -> bool:
    """Whether every data set that the script names gives pairs."""
    named = [script.project.resolve(script.module, name) for name in script.module.bindings if "Data" in name]
    classes = [ref for ref in named if isinstance(ref, ClassFacts)] + [*script.module.classes.values()]
    methods = [script.project.method(cls, "__getitem__") for cls in classes]
    given = [
        node.value
        for method in methods
        for node in (walk(method[1]) if method is not None else ())
        if isinstance(node, ast.Return) and node.value is not None
    ]
    return bool(given) and all(isinstance(value, ast.Tuple) and len(value.elts) >= 2 for value in given)


def _taken(loss: Names | None, step: Names) -> list[ast.expr]:
    """The names of the step that a loss function defined in it reads."""
    if loss is None or loss.outer is None or loss.outer.function is not step.function:
        return []
    found = {
        node.id: node
        for node in loss.nodes
        if isinstance(node, ast.Name)
        and loss.owner_of(node.id) is loss.outer
        and node.id not in step.functions
    }
    return list(found.values())


def _item(node: ast.expr, step: Names, reads: set[int], steps: int = 0) -> tuple[int, ast.expr] | None:
    """Which item of the batch a value is, and where it is taken."""
    if steps > 8:
        return None
    if isinstance(node, ast.Name):
        unpacked = step.item(node.id)
        if unpacked is not None and unpacked.index is not None and _is_batch(unpacked.source, step, reads):
            return unpacked.index, unpacked.source
        made = [
            value
            for value in step.bound.get(node.id, [])
            if not is_none(value) and not isinstance(value, Opaque)
        ]
        return _item(made[0], step, reads, steps + 1) if len(made) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _item(node.func.value, step, reads, steps + 1)
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and type(node.slice.value) is int
    ):
        return (node.slice.value, node) if _is_batch(node.value, step, reads) else None
    return None


def _is_batch(node: ast.expr, step: Names, reads: set[int]) -> bool:
    if isinstance(node, ast.Name):
        made = [value for value in step.bound.get(node.id, []) if not is_none(value)]
        return len(made) == 1 and _is_batch(made[0], step, reads)
    return id(node) in reads
