"""E7513"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..project.function_returns import is_none, is_plain, step_problem
from ..project.loss_binding import LossBinding, loss_bindings
from ..project.loss_values import (
    MEAN,
    counts_values,
    float_count,
    is_zero,
    joins,
    keeps_graph,
    lone_report,
    loss_kind,
    made_on_cpu,
    turned_report,
)
from ..project.project import dotted_name
from ..project.scopes import Scope
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import add_keyword, replace, safe, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_LOSS = "loss, num_tokens, {name: value}"
_REDUCTIONS = frozenset("mean sum item mse_loss l1_loss smooth_l1_loss cross_entropy huber_loss abs".split())


class LossReturnContract(Rule):
    """The loss function does not return `(loss, num_tokens, dict)`, or the step not `(output, loss function)`."""

    code, symbol = "E7513", "loss-return-contract"
    message = "`%(loss)s` returns %(problem)s; the schedule takes (%(wanted)s) apart"
    advice = (
        'Write `return loss, torch.tensor(1, device=loss.device), {"loss": loss.clone().detach()}`: a mean counts as '
        "one."
    )
    why = "The schedule takes the result apart to scale the loss by the tokens and to report the values of the dict."
    symptom = Symptom.CRASH
    runtime = "TypeError: len() of a 0-d tensor, or AttributeError: 'Tensor' has no attribute 'keys'"
    limits = (
        "The pair `(loss, dict)` of older Megatron releases is right too, but for stages by the guide. Silent where "
        "the result cannot be seen."
    )
    guide = "3.2 forward_step_func"

    bad = """
    from functools import partial


    def l2_loss(label, output):
        return (output - label).pow(2).mean()  # [loss-return-contract]


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(l2_loss, label)
    """
    good = """
    from functools import partial
    import torch


    def l2_loss(label, output):
        loss = (output - label).pow(2).mean()
        return loss, torch.tensor(1, device=loss.device), {"loss": loss.clone().detach()}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(l2_loss, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            yield from self._step(script)
            for step in script.forward_steps:
                for binding in loss_bindings(script, step):
                    loss = binding.loss
                    if loss is None or loss.function is None or any(_yields(node) for node in loss.nodes):
                        continue
                    for node in loss.nodes:
                        if not isinstance(node, ast.Return) or not node.value:
                            continue
                        problem = _problem(loss, node.value)
                        if problem is None and script.drives_stages:
                            problem = _plain_count(loss, node.value)
                        if problem is None:
                            problem = _wrong_count(script, binding, node.value)
                        if problem is None and script.drives_stages and analysis.project.follows_guide:
                            yield from self._by_the_guide(loss, node)
                        if script.drives_stages:
                            yield from self._turned(loss, node)
                            yield from self._on_cpu(loss, node)
                        if not analysis.project.follows_guide or not script.drives_stages:
                            yield from self._itself(loss, node)
                        if problem is not None:
                            place, name = place_of(loss.module, node), loss.function.name
                            yield self.finding(place, object=name, loss=name, problem=problem, wanted=_LOSS)

    def _itself(self, loss: Scope, node: ast.Return) -> Iterator[Finding]:
        """`return loss, {"loss": loss}`: the report is the tensor that the schedule divides in place."""
        values = (
            node.value.elts if isinstance(node.value, ast.Tuple) and len(node.value.elts) in (2, 3) else []
        )
        reported = values[-1].values if values and isinstance(values[-1], ast.Dict) else []
        for value in reported:
            if isinstance(value, ast.Name) and as_code(value) == as_code(values[0]):
                name = loss.function.name if loss.function is not None else ""
                yield self.finding(
                    place_of(loss.module, value),
                    object=name,
                    message="`%(loss)s` reports the loss itself, with its graph: the schedule divides it in place",
                    advice="Report `%(value)s.clone().detach()`.",
                    fix=safe(replace(loss.module, value, f"{value.id}.clone().detach()")),
                    loss=name,
                    value=value.id,
                )

    def _on_cpu(self, loss: Scope, node: ast.Return) -> Iterator[Finding]:
        """A count made without a device, joined with the loss."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        reported = values[2].values if len(values) == 3 and isinstance(values[2], ast.Dict) else []
        count = values[1] if len(values) == 3 else None
        made = loss.value(count.id) if isinstance(count, ast.Name) else None
        if not isinstance(made, ast.Call) or not reported or not made_on_cpu(made):
            return
        if any(joins(value, values[0], count, loss) for value in reported):
            name = loss.function.name if loss.function is not None else ""
            device = f"device={ast.unparse(values[0])}.device"
            yield self.finding(
                place_of(loss.module, made),
                object=name,
                message="`%(made)s` lies on the CPU, and `%(loss)s` joins it with the loss in its report",
                advice="Make it with `%(device)s`.",
                fix=unsafe(add_keyword(loss.module, made, device)),
                loss=name,
                made=ast.unparse(made),
                device=device,
            )

    def _turned(self, loss: Scope, node: ast.Return) -> Iterator[Finding]:
        """A report of [count, sum]: the training loop divides the first by the second."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        reported = values[2].values if len(values) == 3 and isinstance(values[2], ast.Dict) else []
        for value in reported:
            parts = turned_report(value, values[0], values[1], loss)
            if parts is not None:
                order = ", ".join(map(ast.unparse, reversed(parts.elts)))
                name = loss.function.name if loss.function is not None else ""
                yield self.finding(
                    place_of(loss.module, parts),
                    object=name,
                    message="`%(loss)s` reports the count before the loss, and the training loop divides the first by "
                    "the second",
                    advice="Report `[%(order)s]`.",
                    fix=unsafe(replace(loss.module, parts, f"[{order}]")),
                    loss=name,
                    order=order,
                )

    def _by_the_guide(self, loss: Scope, node: ast.Return) -> Iterator[Finding]:
        """The pair of older Megatron, and a report without its count: the guide has one form for all scripts."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        name = loss.function.name if loss.function is not None else ""
        returned = [part.value for part in loss.nodes if isinstance(part, ast.Return)]
        if all(isinstance(value, ast.Tuple) and len(value.elts) == 2 for value in returned):
            yield self.finding(
                place_of(loss.module, node), object=name, loss=name, problem=tr("two values"), wanted=_LOSS
            )
        elif len(values) == 3 and isinstance(values[2], ast.Dict):
            for value in values[2].values:
                if keeps_graph(value, values[0], loss):
                    yield self.finding(
                        place_of(loss.module, value),
                        object=name,
                        message="`%(loss)s` reports the loss with its graph",
                        advice="Report `torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])`.",
                        loss=name,
                    )
                    continue
                kind = lone_report(value, values[0], loss)
                if kind:
                    yield self.finding(
                        place_of(loss.module, value),
                        object=name,
                        message="`%(loss)s` reports %(what)s, and the training loop takes the sum and its count",
                        advice="Report `torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])`.",
                        loss=name,
                        what=tr("a plain number") if kind == "number" else f"`{ast.unparse(value)}` alone",
                    )

    def _step(self, script: TrainingScript) -> Iterator[Finding]:
        """What the step that `pretrain` is given returns, where it is no pair of an output and a function."""
        step = script.handed("forward_step_func")
        if step is None or step.function is None or not is_plain(step):
            return
        for node in step.nodes:
            if not isinstance(node, ast.Return) or node.value is None or is_none(node.value):
                continue
            problem, typed, edit = step_problem(script, step, node.value)
            if problem:
                yield self.finding(
                    place_of(step.module, node),
                    object=step.function.name,
                    fix=unsafe(replace(step.module, *edit)) if edit is not None else None,
                    advice=typed,
                    loss=step.function.name,
                    problem=problem,
                    wanted=tr("output, loss function"),
                )


def _yields(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _problem(loss: Scope, value: ast.expr) -> str | None:
    if isinstance(value, ast.Name):
        value = loss.value(value.id) or value
    if isinstance(value, ast.Tuple):
        if any(isinstance(item, ast.Starred) for item in value.elts):
            return None
        if len(value.elts) not in (2, 3):
            return tr("%(number)s values", number=len(value.elts))
        last = value.elts[-1]
        if isinstance(last, ast.Name):
            last = loss.value(last.id) or last
        return (
            tr("`%(value)s` as the last value, which is no dict", value=ast.unparse(value.elts[-1]))
            if _is_number(last)
            else None
        )
    return tr("the loss alone") if _is_number(value) else None


def _plain_count(loss: Scope, value: ast.expr) -> str | None:
    """A token count that is no tensor: the schedule clamps it."""
    if not isinstance(value, ast.Tuple) or len(value.elts) != 3:
        return None
    count = value.elts[1]
    seen = (loss.value(count.id) or count) if isinstance(count, ast.Name) else count
    is_plain_number = isinstance(seen, ast.Constant) and isinstance(seen.value, int | float)
    return (
        tr("`%(count)s` as num_tokens, which is no tensor", count=ast.unparse(count))
        if is_plain_number
        else None
    )


def _wrong_count(script: TrainingScript, binding: LossBinding, value: ast.expr) -> str | None:
    """A count that does not fit the loss beside it, or that the schedule cannot add to its own."""
    loss = binding.loss
    if loss is None or not isinstance(value, ast.Tuple) or len(value.elts) != 3:
        return None
    total, count, _ = value.elts
    if counts_values(count, loss) and loss_kind(script, total, loss) == MEAN:
        return tr("a mean beside `%(count)s`, by which it is divided once more", count=ast.unparse(count))
    if is_zero(count, loss):
        return tr(
            "`%(count)s` as num_tokens, which is zero: the loss is divided by it", count=ast.unparse(count)
        )
    made = float_count(binding, count, loss)
    if made:
        return tr("a floating count, from %(made)s, which the schedule adds to a whole number", made=made)
    return None


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is surely a tensor or a number."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.BitOr)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted_name(node.func) or ""
        return name in _REDUCTIONS
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
