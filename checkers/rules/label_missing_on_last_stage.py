"""E7510"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import is_none
from ..finding import Edit, Finding
from ..language import tr
from ..project.data_reads import FIRST, DataRead, calls_with_stages, data_reads
from ..project.loss_binding import LossBinding, loss_bindings
from ..project.scopes import Scope, own_nodes
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LabelMissingOnLastStage(Rule):
    """The labels are read on the first pipeline stage only, and the loss is computed on the last."""

    code, symbol = "E7510", "label-missing-on-last-stage"
    message = "`%(label)s` is read on the first pipeline stage only, and the loss on the last one uses it"
    advice = "Read under `if %(test)s:`."
    why = "Every stage is a process of its own; the schedule calls the loss function on the last stage alone."
    symptom = Symptom.CRASH
    runtime = "TypeError: unsupported operand type(s) for -: 'Tensor' and 'NoneType', or UnboundLocalError"
    limits = "Silent behind tests that are about something else, and where the labels get a value in another place too."
    guide = "Principle 11, trap 5: only the first stage reads data"
    fix_kind = "unsafe"
    fix_note = "Whether the input is read elsewhere on these ranks is for a reader to say."

    bad = """
    from functools import partial
    from megatron.core import mpu
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field = label = None
        if mpu.is_pipeline_first_stage():
            field, label = next(data_iterator)  # [label-missing-on-last-stage]
        output = model(field)
        return output, partial(l2_loss, label)
    """
    good = """
    from functools import partial
    from megatron.core import mpu
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field = label = None
        if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
            field, label = next(data_iterator)
        output = model(field)
        return output, partial(l2_loss, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                reads = data_reads(script, step)
                if reads:
                    yield from self._never_read(script, step)
                if reads and all(read.where.stages == {FIRST} and not read.where.is_open for read in reads):
                    yield from self._check_step(script, step, reads[0])
                elif reads and not any(read.where.stages or read.where.is_open for read in reads):
                    yield self.finding(
                        place_of(reads[0].scope.module, reads[0].node),
                        object=script_name(step),
                        message="no stage of a pipeline reads data: the test holds where one stage is both the first "
                        "and the last",
                        advice="Read where a stage is the first `or` the last.",
                    )
                elif reads:
                    yield from self._first_only(script, step)

    def _never_read(self, script: TrainingScript, step: Scope) -> Iterator[Finding]:
        """A label that is None on every stage."""
        for name, node in dict(_loss_inputs(script, step)).items():
            made = step.bound.get(name, [])
            if made and name not in step.parameters and all(map(is_none, made)):
                yield self.finding(
                    place_of(step.module, node),
                    object=script_name(step),
                    message="the loss takes `%(label)s`, which is None on every stage",
                    advice="Read it where `mpu.is_pipeline_last_stage()` holds.",
                    label=name,
                )

    def _first_only(self, script: TrainingScript, step: Scope) -> Iterator[Finding]:
        """The batch is read on both stages, and the label taken out of it on the first one alone."""
        first = {
            id(call)
            for call, where in calls_with_stages(step)
            if where.stages == {FIRST} and not where.is_open and where.tried is None
        }
        seen: set[str] = set()
        for name, node in _loss_inputs(script, step):
            made = [value for value in step.bound.get(name, []) if not is_none(value)]
            if name not in seen and made and all(id(value) in first for value in made):
                seen.add(name)
                yield self.finding(
                    place_of(step.module, made[0]),
                    object=script_name(step),
                    evidence=(at(Site(step.module, node), tr("the loss takes `%(name)s` here", name=name)),),
                    message="`%(label)s` is made on the first stage alone, and the loss of the last one takes it",
                    advice="Make it where `mpu.is_pipeline_last_stage()` holds.",
                    label=name,
                )

    def _check_step(self, script: TrainingScript, step: Scope, read: DataRead) -> Iterator[Finding]:
        batch = _names_from(step, read)
        for name, node in _loss_inputs(script, step):
            sources = step.bound.get(name, [])
            if name in batch and all(is_none(value) or _comes_from(value, batch, read) for value in sources):
                evidence = (at(Site(step.module, node), tr("the loss takes `%(name)s` here", name=name)),)
                edit = _also_last(read.scope, read)
                asked = edit.text.removeprefix(" or ") if edit is not None else "mpu.is_pipeline_last_stage()"
                first = asked.replace("last", "first")
                yield self.finding(
                    place_of(read.scope.module, read.node),
                    object=script_name(read.scope),
                    evidence=evidence,
                    fix=unsafe(edit),
                    label=name,
                    test=tr("%(first)s or %(asked)s", first=first, asked=asked),
                )
                return


def _also_last(step: Scope, read: DataRead) -> Edit | None:
    """`or …is_pipeline_last_stage()` behind the test for the first stage that the read stands under."""
    for node in step.nodes:
        if isinstance(node, ast.If) and node.lineno < read.node.lineno <= (node.end_lineno or 0):
            test = node.test
            parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
            for part in parts:
                name = ast.unparse(part.func) if isinstance(part, ast.Call) and not part.args else ""
                if "." in name and name.endswith("is_pipeline_first_stage"):
                    return insert_after(
                        step.module, part, tr(" or %(last)s()", last=name.replace("first", "last"))
                    )
    return None


def script_name(step: Scope) -> str:
    """The name of a function scope."""
    return step.function.name if step.function is not None else ""


def _names_from(step: Scope, read: DataRead) -> set[str]:
    """Every name whose values come from the read, directly or through other names."""
    found: set[str] = set()
    grew = True
    while grew:
        grew = False
        for name, values in step.bound.items():
            if name not in found and any(_comes_from(value, found, read) for value in values):
                found.add(name)
                grew = True
    return found


def _comes_from(value: ast.expr, batch: set[str], read: DataRead) -> bool:
    source = getattr(value, "source", value)
    nodes = list(own_nodes(source))
    if read.call in nodes:
        return True
    return any(isinstance(node, ast.Name) and node.id in batch for node in nodes) and not _calls_model(nodes)


def _calls_model(nodes: list[ast.AST]) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and "model" in node.func.id
        for node in nodes
    )


def _loss_inputs(script: TrainingScript, step: Scope) -> Iterator[tuple[str, ast.expr]]:
    """Names of the step that the loss uses: bound by a partial, by a default, or from around a nested function."""
    for binding in loss_bindings(script, step):
        bound: list[ast.expr] = [*binding.bound, *binding.named.values(), *_captured(binding, step)]
        for value in bound:
            for node in own_nodes(value):
                if isinstance(node, ast.Name):
                    yield node.id, node
    for node in step.nodes:  # a partial of a function from elsewhere
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "partial":
            for value in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
                if isinstance(value, ast.Name):
                    yield value.id, value


def _captured(binding: LossBinding, step: Scope) -> list[ast.expr]:
    function = binding.function
    is_nested = isinstance(function, ast.Lambda) or function.name in step.functions
    if not is_nested:
        return []
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    local = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
    used = [
        node
        for part in body
        for node in own_nodes(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    return [*(node for node in used if node.id not in local), *function.args.defaults]
