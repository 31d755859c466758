"""E7541"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.batch_items import item_of, read_of, taken
from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.project import dotted_name
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
                    labels += taken(binding.loss, step)
                given = [found for value in inputs if (found := item_of(value, step, reads)) is not None]
                wanted = [found for value in labels if (found := item_of(value, step, reads)) is not None]
                if len(given) == len(wanted) == 1:
                    yield from self._read_twice(step, given[0][1], wanted[0][1], reads)
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

    def _read_twice(
        self, step: Names, given: ast.expr, wanted: ast.expr, reads: set[int]
    ) -> Iterator[Finding]:
        """The label from a second `next(data_iterator)` behind that of the input."""
        nodes = [node.value if isinstance(node, ast.Subscript) else node for node in (given, wanted)]
        first, second = (read_of(node, step, reads) for node in nodes)
        if first is None or second is None or first is second or ast.unparse(first) != ast.unparse(second):
            return
        if _is_behind(step.body, first, second):
            yield self.finding(
                place_of(step.module, second),
                object=step.function.name if step.function is not None else "",
                evidence=(at(Site(step.module, first), tr("the batch of the input is read here")),),
                message="the label is taken from a second batch, `%(read)s`: it is that of another sample",
                advice="Take the input and the label from one batch, read once.",
                read=ast.unparse(second),
            )


def _is_behind(body: list[ast.stmt], first: ast.expr, second: ast.expr) -> bool:
    """Whether a node stands in a statement of a block behind the one that holds another: both run, or the first."""
    for index, statement in enumerate(body):
        held = {id(part) for part in walk(statement)}
        if id(first) not in held:
            continue
        if id(second) in held:
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            return any(_is_behind(block, first, second) for block in blocks)
        is_plain = not isinstance(statement, ast.If | ast.For | ast.While | ast.Try)
        behind = {id(part) for later in body[index + 1 :] for part in walk(later)}
        return is_plain and id(second) in behind
    return False


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
