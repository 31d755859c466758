"""What the functions that Megatron calls hand back: paths without a value, and steps that return the wrong pair."""

from __future__ import annotations

import ast

from ..language import tr
from .project import dotted_name
from .scopes import Scope
from .training import TrainingScript


def step_problem(
    script: TrainingScript, step: Scope, value: ast.expr
) -> tuple[str, str, tuple[ast.expr, str] | None]:
    """What is wrong with the value that a forward step returns, what to type, and the edit."""
    bound = (step.value(value.id) or value) if isinstance(value, ast.Name) else value
    if not isinstance(bound, ast.Tuple):
        if _is_output(step, bound):
            return (
                tr("the output alone"),
                tr("Write `return %(value)s, loss_func`.", value=ast.unparse(value)),
                None,
            )
        if _is_loss(script, step, bound):
            return (
                tr("the loss alone"),
                tr("Write `return output, loss_func`, and leave the call to the schedule."),
                None,
            )
        return "", "", None
    if any(isinstance(item, ast.Starred) for item in bound.elts):
        return "", "", None
    if len(bound.elts) != 2:
        return tr("%(number)s values", number=len(bound.elts)), tr("Write `return output, loss_func`."), None
    first, second = bound.elts
    if _is_function(script, step, first) and _is_output(step, _seen(step, second)):
        typed = f"{ast.unparse(second)}, {ast.unparse(first)}"
        return (
            tr("the loss function first"),
            tr("Write `return %(typed)s`.", typed=typed),
            (bound, typed),
        )
    called = _seen(step, second)
    if not _is_loss(script, step, called) or not isinstance(called, ast.Call):
        return "", "", None
    function = ast.unparse(called.func)
    takes_output = (
        len(called.args) == 1 and not called.keywords and ast.dump(called.args[0]) == ast.dump(first)
    )
    fix = (second, function) if takes_output else None
    typed = function if takes_output else f"partial({function}, …)"
    problem = tr("the loss, `%(second)s`, in place of the function", second=ast.unparse(second))
    return (
        problem,
        tr("Hand over the function, `%(typed)s`, and leave the call to the schedule.", typed=typed),
        fix,
    )


def _seen(step: Scope, value: ast.expr) -> ast.expr:
    return (step.value(value.id) or value) if isinstance(value, ast.Name) else value


def _is_output(step: Scope, value: ast.expr) -> bool:
    """Whether it is what the model, the second parameter, returns."""
    names = step.parameters
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and len(names) > 1
        and value.func.id == names[1]
    )


def _is_function(script: TrainingScript, step: Scope, value: ast.expr) -> bool:
    seen = _seen(step, value)
    if isinstance(seen, ast.Call):
        return (dotted_name(seen.func) or "").rsplit(".", 1)[-1] == "partial"
    return isinstance(seen, ast.Lambda) or script.function(value, step) is not None


def _is_loss(script: TrainingScript, step: Scope, value: ast.expr) -> bool:
    """Whether it is the result of a function of the tree that returns values, and no function."""
    called = script.function(value.func, step) if isinstance(value, ast.Call) else None
    if called is None or called.function is None or not is_plain(called):
        return False
    returns = [node.value for node in called.nodes if isinstance(node, ast.Return)]
    return bool(returns) and all(isinstance(value, ast.Tuple | ast.BinOp | ast.Dict) for value in returns)


def is_plain(scope: Scope) -> bool:
    function = scope.function
    return (
        function is not None
        and not function.decorator_list
        and not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in scope.nodes)
    )


def is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def falls_off(body: list[ast.stmt]) -> bool:
    """Whether the end of a block is reached."""
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return False
    if isinstance(last, ast.If):
        return not last.orelse or falls_off(last.body) or falls_off(last.orelse)
    if isinstance(last, ast.With):
        return falls_off(last.body)
    if isinstance(last, ast.Try):
        if last.finalbody and not falls_off(last.finalbody):
            return False
        return falls_off(last.orelse or last.body) or any(falls_off(part.body) for part in last.handlers)
    if isinstance(last, ast.While):
        return not (isinstance(last.test, ast.Constant) and last.test.value)
    if isinstance(last, ast.Match):
        return any(falls_off(case.body) for case in last.cases)
    is_exit = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    return not (is_exit and "exit" in ast.unparse(last.value.func))  # type: ignore[attr-defined]
