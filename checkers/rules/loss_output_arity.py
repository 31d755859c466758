"""E7727"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.loss_binding import loss_bindings
from ..project.project import Project
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, Scopes, returns
from ..spmd.instances import class_of
from ..spmd.stage_paths import LAST, returned
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LossOutputArity(Rule):
    """The loss function unpacks another number of values than the last stage returns."""

    code, symbol = "E7727", "loss-output-arity"
    message = (
        "`%(loss)s` unpacks %(taken)s values from the output, but the last stage `%(cls)s` returns %(given)s"
    )
    advice = "Unpack what the last stage returns, or let it return what the loss needs."
    why = "The schedule hands what the model returned on the last stage to the loss function as it is."
    symptom = Symptom.CRASH
    runtime = "ValueError: too many values to unpack, on the last stage only; the others hang."
    limits = (
        "Only where the model provider returns one class of the tree, and its forward a written-out tuple."
    )
    guide = "beyond the guide; 3.3 describes the loss function"

    bad = """
    from functools import partial
    from torch import nn
    from megatron.training import pretrain


    class Model(nn.Module):
        def forward(self, x):
            upper, surface = self.upper(x), self.surface(x)
            return upper, surface, x


    def model_provider(pre_process=True, post_process=True):
        return Model()


    def loss_func(label, output):
        upper, surface = output  # [loss-output-arity]
        return (upper - label).abs().mean() + surface.mean(), {}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)


    pretrain(None, model_provider, None, forward_step)
    """
    good = """
    from functools import partial
    from torch import nn
    from megatron.training import pretrain


    class Model(nn.Module):
        def forward(self, x):
            upper, surface = self.upper(x), self.surface(x)
            return upper, surface, x


    def model_provider(pre_process=True, post_process=True):
        return Model()


    def loss_func(label, output):
        upper, surface, x = output
        return (upper - label).abs().mean() + surface.mean(), {}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)


    pretrain(None, model_provider, None, forward_step)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            found = _last_stage(analysis.project, script)
            counts = _counts(analysis.project, found) if found is not None else None
            if found is None or counts is None:
                continue
            given, line = counts
            for step in script.scheduled_steps:
                for binding in loss_bindings(script, step):
                    free = binding.free
                    if binding.loss is None or not free:
                        continue
                    for target in _unpacked(binding.loss.nodes, free[0]):
                        if len(target.elts) != given:
                            name = getattr(binding.function, "name", tr("the loss"))
                            yield self.finding(
                                place_of(binding.loss.module, target),
                                object=name,
                                evidence=(
                                    Evidence(
                                        found.module.display,
                                        line,
                                        tr(
                                            "`%(found)s` returns %(given)s values",
                                            found=found.name,
                                            given=given,
                                        ),
                                    ),
                                ),
                                loss=name,
                                taken=len(target.elts),
                                cls=found.name,
                                given=given,
                            )


def _unpacked(nodes: list[ast.AST], name: str) -> Iterator[ast.Tuple | ast.List]:
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            target = node.targets[0]
            is_open = isinstance(target, ast.Tuple | ast.List) and any(
                isinstance(part, ast.Starred) for part in target.elts
            )
            if isinstance(target, ast.Tuple | ast.List) and not is_open:
                yield target


def _last_stage(project: Project, script: TrainingScript) -> ClassFacts | None:
    """The one class that the provider builds."""
    scope = script.handed("model_provider") or script.top.functions.get("model_provider")
    if scope is None:
        return _scheduled(project, script)
    frame = Frame(project, scope)
    built: set[ClassFacts | None] = set()
    for value in returns(frame):
        found = frame.definitions(value) if isinstance(value, ast.Name) else [(value, frame)]
        for made, where in found or [(value, frame)]:
            ref = where.ref(made.func) if isinstance(made, ast.Call) else None
            built.add(ref if isinstance(ref, ClassFacts) else None)
    return built.pop() if len(built) == 1 else None


def _scheduled(project: Project, script: TrainingScript) -> ClassFacts | None:
    """The one class that a call of the schedule is given, beside the step: `schedule(forward_step_func=…, model=m)`."""
    given = {
        class_of(held, Frame(project, scope))
        for call, scope in script.calls
        if any(word.arg == "forward_step_func" for word in call.keywords)
        for word in call.keywords
        if word.arg == "model"
        for held in (word.value.elts if isinstance(word.value, ast.List) else [word.value])
    }
    return given.pop() if len(given) == 1 else None


def _counts(project: Project, cls: ClassFacts) -> tuple[int, int] | None:
    """How many values the forward returns on the last stage, and a line that says so."""
    method = project.method(cls, "forward")
    if method is None:
        return None
    scope = project.knowledge(Scopes).of(method[0].module, method[1])
    values = returned(Frame(project, scope, cls), LAST)
    sizes = {
        len(value.elts)
        if isinstance(value, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in value.elts)
        else 0
        for value in values
    }
    return (sizes.pop(), values[0].lineno) if len(sizes) == 1 and 0 not in sizes else None
