"""The function that a training step returns beside its output: what is bound to it, and what the schedule gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from .project import dotted_name
from .scopes import Function, Scope
from .training import TrainingScript

_FLAG = "non_loss_data"
"""What the schedule passes by keyword when it collects outputs instead of losses."""


@dataclass(frozen=True, eq=False)
class LossBinding:
    """`return output, partial(function, *bound, **named)`; `node` is what stands beside the output."""

    node: ast.expr
    output: ast.expr
    scope: Scope
    function: Function
    loss: Scope | None
    bound: list[ast.expr] = field(default_factory=list)
    named: dict[str, ast.expr] = field(default_factory=dict)
    is_open: bool = False

    @property
    def free(self) -> list[str]:
        """Positional parameters that nothing is bound to, in order: the first gets the output."""
        spec = self.function.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][len(self.bound) :]
        return [name for name in names if name not in self.named]

    @property
    def required(self) -> list[str]:
        """Parameters the schedule would have to give: it gives one value, the output."""
        spec = self.function.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        without = names[: len(names) - len(spec.defaults)]
        only = [
            arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None
        ]
        return [
            name for name in (*without[len(self.bound) :], *only) if name not in self.named and name != _FLAG
        ]

    @property
    def takes_more(self) -> bool:
        """Whether the function has `*args`."""
        return self.function.args.vararg is not None


def loss_bindings(script: TrainingScript, step: Scope) -> Iterator[LossBinding]:
    """What a step returns beside its output, where the function behind it can be seen."""
    for node in step.nodes:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            output, given = node.value.elts
            found = _binding(script, step, given, output, 0)
            if found is not None:
                yield found


def _binding(
    script: TrainingScript, step: Scope, node: ast.expr, output: ast.expr, depth: int
) -> LossBinding | None:
    if isinstance(node, ast.IfExp):
        return _binding(script, step, node.body, output, depth)
    if isinstance(node, ast.Lambda):
        return _of_lambda(script, step, node, output) or LossBinding(node, output, step, node, None)
    if (
        isinstance(node, ast.Call)
        and (dotted_name(node.func) or "").rsplit(".", 1)[-1] == "partial"
        and node.args
    ):
        loss = script.function(node.args[0], step)
        inner = (
            node.args[0]
            if isinstance(node.args[0], ast.Lambda)
            else loss.function
            if loss is not None
            else None
        )
        if inner is None:
            return None
        is_open = any(isinstance(arg, ast.Starred) for arg in node.args) or any(
            k.arg is None for k in node.keywords
        )
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        return LossBinding(node, output, step, inner, loss, node.args[1:], named, is_open)
    if isinstance(node, ast.Name):
        loss = script.function(node, step)
        if loss is not None and loss.function is not None:
            is_plain = not loss.function.decorator_list
            return LossBinding(node, output, step, loss.function, loss) if is_plain else None
        bound = step.value(node.id)
        return None if bound is None or depth > 3 else _binding(script, step, bound, output, depth + 1)
    return None


def _of_lambda(script: TrainingScript, step: Scope, node: ast.Lambda, output: ast.expr) -> LossBinding | None:
    """`lambda out: loss(label, out)`: the function that it calls, where it hands on its one parameter as it is."""
    call, names = node.body, [arg.arg for arg in node.args.args]
    loss = script.function(call.func, step) if isinstance(call, ast.Call) and len(names) == 1 else None
    if not isinstance(call, ast.Call) or loss is None or not isinstance(loss.function, ast.FunctionDef):
        return None
    spec = loss.function.args
    parameters = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords):
        return None
    given = dict(zip(parameters, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    taken = [name for name, value in given.items() if isinstance(value, ast.Name) and value.id == names[0]]
    if len(taken) != 1 or spec.vararg is not None:
        return None
    named = {name: value for name, value in given.items() if name != taken[0]}
    return LossBinding(node, output, step, loss.function, loss, [], named)
