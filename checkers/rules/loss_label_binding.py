"""E7512"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..language import tr
from ..project.loss_binding import LossBinding, loss_bindings
from ..project.scopes import Scope
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LossLabelBinding(Rule):
    """The function returned beside the output does not take exactly the output, or has it bound as the label."""

    code, symbol = "E7512", "loss-label-binding"
    message = "the schedule calls `%(loss)s` with the output alone, %(problem)s"
    advice = "%(typed)s"
    why = (
        "The schedule calls the returned function on the last stage with the output of the model. The label has to be "
        "bound before: by a closure or by `partial(loss_func, label)`."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "A loss of exactly 0 from the first step on, or TypeError: loss_func() missing 1 required argument"
    )
    limits = "Silent where the function cannot be seen, is decorated, or gets `*` or `**` arguments."
    guide = "3.2 forward_step_func"
    fix_kind = "unsafe"
    fix_note = "What the loss function takes, and from where its label comes, is for a reader to say."

    bad = """
    from functools import partial
    import torch


    def forward_step(data_iterator, model):
        field, target = next(data_iterator)
        output = model(field.float())

        def loss_func(output, target=target.float()):
            loss = (output - target).abs().mean()
            return loss, torch.tensor(1), {"loss": loss.clone().detach()}

        return output, partial(loss_func, output)  # [loss-label-binding]
    """
    good = """
    from functools import partial
    import torch


    def forward_step(data_iterator, model):
        field, target = next(data_iterator)
        output = model(field.float())

        def loss_func(output, target=target.float()):
            loss = (output - target).abs().mean()
            return loss, torch.tensor(1), {"loss": loss.clone().detach()}

        return output, partial(loss_func)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.scheduled_steps:
                for binding in loss_bindings(script, step):
                    found = _problem(binding)
                    if found is None:
                        continue
                    name = getattr(binding.function, "name", "lambda")
                    module = binding.loss.module if binding.loss is not None else step.module
                    evidence = (
                        at(
                            Site(module, _first(binding)),
                            tr(
                                "`%(name)s` takes (%(args)s)",
                                name=name,
                                args=ast.unparse(binding.function.args),
                            ),
                        ),
                    )
                    place = place_of(step.module, binding.node)
                    yield self.finding(
                        place,
                        object=name,
                        evidence=evidence,
                        fix=_unbound(step, binding),
                        loss=name,
                        problem=found[0],
                        typed=found[1],
                    )


def _first(binding: LossBinding) -> ast.expr | ast.stmt:
    return binding.function


def _name(binding: LossBinding) -> str:
    return str(getattr(binding.function, "name", "loss"))


def _instead(binding: LossBinding, output: str) -> str:
    """What to bind in place of the output: the label, which another parameter may hold by its default already."""
    name, spec = _name(binding), binding.function.args
    names = [arg.arg for arg in (*spec.args, *spec.kwonlyargs)]
    if spec.defaults or spec.kw_defaults or len(names) < 2:
        return tr(
            "Write `%(name)s` in place of `%(node)s`: its default holds the label.",
            name=name,
            node=ast.unparse(binding.node),
        )
    typed = f"partial({name}, {names[0]}=…)"
    return tr(
        "Bind the label in place of `%(output)s`: `%(typed)s`, and let `%(names)s` take the output.",
        output=output,
        typed=typed,
        names=names[-1],
    )


def _unbound(step: Scope, binding: LossBinding) -> Fix | None:
    """The function alone, where the output is bound and the label is held by a default."""
    output, node, spec = binding.output, binding.node, binding.function.args
    if not isinstance(output, ast.Name) or not isinstance(node, ast.Call) or not spec.defaults:
        return None
    is_output = len(node.args) == 2 and isinstance(node.args[1], ast.Name) and node.args[1].id == output.id
    others = len(spec.args) - len(spec.defaults)
    if not is_output or node.keywords or others != 1:
        return None
    return unsafe(replace(step.module, node, ast.unparse(node.args[0])))


def _problem(binding: LossBinding) -> tuple[str, str] | None:
    """What goes wrong, and what to type."""
    if binding.is_open:
        return None
    output, free = binding.output, binding.free
    if isinstance(output, ast.Name):
        for value in binding.bound:
            if isinstance(value, ast.Name) and value.id == output.id:
                taker = (
                    tr("which lands in `%(free)s`", free=free[0])
                    if free
                    else tr("and no parameter is left for it")
                )
                text = tr(
                    "%(taker)s, because `%(id)s` is bound already: the loss compares the output with itself",
                    taker=taker,
                    id=output.id,
                )
                return text, _instead(binding, output.id)
    if binding.takes_more:
        return None
    given = {name for name in binding.required if binding.free and name != binding.free[0]}
    name = _name(binding)
    if given:
        missing = next(name for name in binding.required if name in given)
        typed = f"`partial({name}, {missing}=…)`"
        return (
            tr("and nothing is given for `%(missing)s`", missing=missing),
            tr("Bind it: %(typed)s, with what this step has as `%(missing)s`.", typed=typed, missing=missing),
        )
    if not free:
        return tr("and it takes no argument more"), tr(
            "Leave a parameter of `%(name)s` free for the output.", name=name
        )
    return None
