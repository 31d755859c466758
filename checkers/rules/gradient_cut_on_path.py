"""E7248"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding, Fix
from ..language import tr
from ..project.distributed import distributed_classes, original_of
from ..project.loss_binding import loss_bindings
from ..project.originals import Originals
from ..project.project import Project, dotted_name
from ..project.scopes import Scope
from ..project.stages import Stages
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NO_GRAD = ("no_grad", "inference_mode")
_CUTS = re.compile(r"\.detach\(|\.data\b|no_grad|inference_mode|\.detach_\(")
_NOT_TRAINING = re.compile(r"eval|valid|test|infer|predict|sample|generate", re.IGNORECASE)


class GradientCutOnPath(Rule):
    """What leads from the loss back to the parameters is cut: detached, under no_grad, or made anew."""

    code, symbol = "E7248", "gradient-cut-on-path"
    message = "%(problem)s"
    advice = "Take the cut out of what is trained; for a report use a copy: `loss.clone().detach()`."
    why = (
        "Autograd follows the tensors from the loss to the parameters. Behind a cut no parameter gets a gradient, and "
        "a pipeline stage has none to send to the stage in front."
    )
    symptom = Symptom.HANG
    runtime = "RuntimeError: element 0 of tensors does not require grad; a stage waits for ever; or layers never learn"
    limits = (
        "Training steps, their loss functions, and forwards of stages and distributed modules of which the original is "
        "found and cuts nothing. Silent in steps named for validation or inference, and under a condition."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "A `detach()` may be meant; a cut by `no_grad` is taken out by hand."

    bad = """
    from functools import partial
    import torch


    def loss_func(label, output):
        loss = (output - label).abs().mean()
        return loss.detach(), torch.tensor(1), {"loss": loss.clone().detach()}  # [gradient-cut-on-path]


    def forward_step(data_iterator, model):
        batch = next(data_iterator)
        output = model(batch[0].float())
        return output.detach(), partial(loss_func, batch[1].float())  # [gradient-cut-on-path]
    """
    good = """
    from functools import partial
    import torch


    def loss_func(label, output):
        loss = (output - label).abs().mean()
        return loss, torch.tensor(1), {"loss": loss.clone().detach()}


    def forward_step(data_iterator, model):
        batch = next(data_iterator)
        output = model(batch[0].float())
        return output, partial(loss_func, batch[1].float())
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for script in project.knowledge(Training):
            for step in script.scheduled_steps:
                name = step.function.name if step.function is not None else ""
                if not _NOT_TRAINING.search(name.replace("train_valid_test", "")):
                    yield from self._step(script, step)
        for cls, original in _pairs(project):
            forward = cls.methods.get("forward")
            if forward is not None and not _CUTS.search(original.text):
                yield from self._forward(cls, forward, original)
        for stage in project.knowledge(Stages):
            yield from self._received(stage.cls)

    def _received(self, cls: ClassFacts) -> Iterator[Finding]:
        """`self.input_tensor = [tensor.detach() for tensor in input_tensor]`."""
        setter = cls.methods.get("set_input_tensor")
        for statement in _plain_statements(setter.body) if setter is not None else ():
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
                continue
            cut = next((node for node in walk(statement.value) if _is_cut(node)), None)
            if isinstance(cut, ast.expr):
                text = tr(
                    "what the stage before sent is kept as `%(value)s`, cut off", value=ast.unparse(cut)
                )
                fix = _without(cls.module, cut)
                yield self.finding(place_of(cls.module, cut), object=cls.name, problem=text, fix=fix)

    def _step(self, script: TrainingScript, step: Scope) -> Iterator[Finding]:
        model = (step.parameters or [""])[1:2]
        for block in step.body:
            if isinstance(block, ast.With) and any(_cuts(item.context_expr) for item in block.items):
                for node in walk(block):
                    if isinstance(node, ast.Call) and [dotted_name(node.func)] == model:
                        yield self._cut(
                            step.module,
                            node,
                            step,
                            tr("the model runs without gradient in the training step"),
                        )
        for mark in step.function.decorator_list if step.function is not None else ():
            if _cuts(mark):
                yield self._cut(step.module, mark, step, tr("the training step runs without gradient"))
        for binding in loss_bindings(script, step):
            cut = _cut_in(binding.output, step)
            if cut is not None and _is_of(cut, model, step):
                text = tr(
                    "the output is handed to the schedule as `%(value)s`, cut off", value=ast.unparse(cut)
                )
                yield self._cut(step.module, cut, step, text)
            loss = binding.loss
            for node in loss.nodes if loss is not None else ():
                if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple) or loss is None:
                    continue
                cut = _cut_in(node.value.elts[0], loss)
                if (
                    cut is None
                    and (inner := _all_cut(node.value.elts[0], loss, binding.free[:1])) is not None
                ):
                    text = tr("the loss is made of `%(value)s`, cut off", value=ast.unparse(inner))
                    yield self._cut(loss.module, inner, loss, text)
                if cut is not None:
                    text = tr("the loss is returned as `%(value)s`, cut off", value=ast.unparse(cut))
                    yield self._cut(loss.module, cut, loss, text)

    def _forward(self, cls: ClassFacts, forward: ast.FunctionDef, original: ClassFacts) -> Iterator[Finding]:
        """`x = block(x.detach())` and the like: what comes in at the name goes on under it, cut off."""
        for statement in _plain_statements(forward.body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
                for part in parts:
                    if _is_cut(part) and _root(part):
                        yield self._of_original(cls, part, original)
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            if _uses(statement.value, name) > sum(
                _uses(node, name) for node in walk(statement.value) if _is_cut(node)
            ):
                continue
            for node in walk(statement.value):
                cut = _root(node) if _is_cut(node) else None
                if isinstance(node, ast.expr) and (
                    cut == name or (node is statement.value and cut == "call")
                ):
                    yield self._of_original(cls, node, original)
                    break

    def _of_original(self, cls: ClassFacts, node: ast.expr, original: ClassFacts) -> Finding:
        text = tr(
            "`%(value)s` cuts the gradient, and `%(original)s` does not",
            value=ast.unparse(node),
            original=original.name,
        )
        fix = _without(cls.module, node)
        return self.finding(place_of(cls.module, node), object=cls.name, problem=text, fix=fix)

    def _cut(self, module: ModuleFacts, node: ast.AST, scope: Scope, problem: str) -> Finding:
        name = scope.function.name if scope.function is not None else ""
        return self.finding(place_of(module, node), object=name, problem=problem, fix=_without(module, node))


def _without(module: ModuleFacts, cut: ast.AST) -> Fix | None:
    """What is detached, as it is."""
    if isinstance(cut, ast.Call) and isinstance(cut.func, ast.Attribute) and cut.func.attr == "detach":
        return unsafe(replace(module, cut, as_code(cut.func.value)))
    return None


def _pairs(project: Project) -> Iterator[tuple[ClassFacts, ClassFacts]]:
    """Distributed modules and stages, each with what it was made from."""
    for cls in distributed_classes(project):
        original = original_of(project, cls)
        if original is not None and original is not cls:
            yield cls, original
    for family in project.knowledge(Stages).families:
        original = project.knowledge(Originals).of(family)
        for stage in family.stages if original is not None else ():
            if original is not None:
                yield stage.cls, original


def _plain_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of its loops, those under a condition left out."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.With):
            yield from _plain_statements(statement.body)


def _cuts(node: ast.expr) -> bool:
    """`torch.no_grad()`, as a context or as a decorator."""
    func = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(func).rsplit(".", 1)[-1] in _NO_GRAD


def _is_cut(node: ast.AST) -> bool:
    """`x.detach()`, `x.data`, `x.item()`, `torch.tensor(x)`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "data" and isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "detach_", "item", "numpy"):
        return not node.args
    name = dotted_name(node.func)
    return name == "torch.tensor" and len(node.args) > 0 and isinstance(node.args[0], ast.Name)


def _root(node: ast.AST) -> str:
    """The name that a cut is taken of; `call` where it is the result of one."""
    inner: ast.AST = node
    if isinstance(node, ast.Call):
        inner = (
            node.func.value
            if isinstance(node.func, ast.Attribute) and node.func.attr != "tensor"
            else node.args[0]
        )
    elif isinstance(node, ast.Attribute):
        inner = node.value
    if isinstance(inner, ast.Name):
        return inner.id
    return "call" if isinstance(inner, ast.Call) else ""


def _uses(node: ast.AST, name: str) -> int:
    return len([part for part in walk(node) if isinstance(part, ast.Name) and part.id == name])


def _cut_in(node: ast.expr, scope: Scope, steps: int = 0) -> ast.expr | None:
    """The cut that a value surely went through: at its end, or at that of what its name is bound to."""
    if isinstance(node, ast.Name) and steps < 4:
        bound = scope.value(node.id)
        return _cut_in(bound, scope, steps + 1) if bound is not None else None
    if _is_cut(node):
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return _cut_in(node.func.value, scope, steps + 1) if isinstance(node.func.value, ast.Call) else None
    return None


def _all_cut(node: ast.expr, loss: Scope, output: list[str]) -> ast.expr | None:
    """The cut of the output in what makes the loss, where the output enters it no other way."""
    made = (loss.value(node.id) or node) if isinstance(node, ast.Name) else node
    cuts = [part for part in walk(made) if _is_cut(part) and _root(part) in output]
    uses = sum(_uses(made, name) for name in output)
    return cuts[0] if cuts and len(cuts) == uses and isinstance(cuts[0], ast.expr) else None


def _is_of(cut: ast.expr, model: list[str], step: Scope) -> bool:
    """Whether what is cut is the model's output."""
    names = {node.id for node in walk(cut) if isinstance(node, ast.Name)}
    made = {name for name in names if _calls(step.value(name), model)}
    return bool(made) or bool(names & set(model))


def _calls(value: ast.expr | None, model: list[str]) -> bool:
    return isinstance(value, ast.Call) and [dotted_name(value.func)] == model
