"""Running statements."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable

from ..facts.nodes import as_code
from . import arithmetic, conditions, expressions, importing, indexing
from .callables import Func
from .choices import Choice
from .flags import implied
from .frames import Frame, OutOfFuel
from .interpreter import Interpreter
from .values import NONE, UNKNOWN, Heap, Obj, Tensor, Unknown, Value


class Flow(enum.Enum):
    """How a statement ends."""

    NEXT = "next"
    RETURN = "return"
    RAISE = "raise"
    BREAK = "break"
    CONTINUE = "continue"


_ROUNDS = 2

_UNROLL = 32


def run_block(interp: Interpreter, frame: Frame, body: list[ast.stmt]) -> Flow:
    """Run statements in order until one leaves the block."""
    for statement in body:
        interp.fuel -= 1
        if interp.fuel < 0:
            raise OutOfFuel
        handler = _HANDLERS.get(type(statement))
        flow = handler(interp, frame, statement) if handler is not None else Flow.NEXT
        if flow is not Flow.NEXT:
            return flow
    return Flow.NEXT


def _expression(interp: Interpreter, frame: Frame, node: ast.Expr) -> Flow:
    expressions.evaluate(interp, frame, node.value)
    return Flow.NEXT


def _assign(interp: Interpreter, frame: Frame, node: ast.Assign) -> Flow:
    value = expressions.evaluate(interp, frame, node.value)
    for target in node.targets:
        expressions.assign(interp, frame, target, value)
    return Flow.NEXT


def _annotated(interp: Interpreter, frame: Frame, node: ast.AnnAssign) -> Flow:
    if node.value is not None:
        expressions.assign(interp, frame, node.target, expressions.evaluate(interp, frame, node.value))
    return Flow.NEXT


def _augmented(interp: Interpreter, frame: Frame, node: ast.AugAssign) -> Flow:
    left = expressions.evaluate(interp, frame, node.target)
    right = expressions.evaluate(interp, frame, node.value)
    value = interp.lift(
        lambda a, b: arithmetic.combine(interp, node.op, a, b, node.value, (node.target, node.value)),
        left,
        right,
    )
    if isinstance(left, Heap) and isinstance(value, Heap):
        interp.write(left.attrs, "content", value.content)
        value = left
    expressions.assign(interp, frame, node.target, value)
    return Flow.NEXT


def _return(interp: Interpreter, frame: Frame, node: ast.Return) -> Flow:
    value = expressions.evaluate(interp, frame, node.value) if node.value is not None else NONE
    frame.returns.append((interp.conditions_since(frame), value, node))
    return Flow.RETURN


def _if(interp: Interpreter, frame: Frame, node: ast.If) -> Flow:
    truth, key = conditions.truth(interp, frame, node.test)
    if truth is not None:
        flow = run_block(interp, frame, node.body if truth else node.orelse)
        if flow is Flow.RAISE:
            conditions.note_refused(interp, frame, node.test)
        return flow
    return _both(
        interp,
        key,
        lambda: run_block(interp, frame, node.body),
        lambda: run_block(interp, frame, node.orelse),
    )


def _both(interp: Interpreter, key: str, then: Callable[[], Flow], other: Callable[[], Flow]) -> Flow:
    flows: list[Flow] = []

    def side(run: Callable[[], Flow]) -> Callable[[], bool]:
        def action() -> bool:
            flow = run()
            flows.append(flow)
            interp.jumped = flow in (Flow.BREAK, Flow.CONTINUE)
            return flow is Flow.NEXT

        return action

    if interp.both(key, side(then), side(other)):
        return Flow.NEXT
    leaving = [flow for flow in flows if flow is not Flow.RAISE]
    if not leaving:
        return Flow.RAISE
    return Flow.RETURN if Flow.RETURN in leaving and len(set(leaving)) == 1 else leaving[0]


def _for(interp: Interpreter, frame: Frame, node: ast.For) -> Flow:
    source = expressions.evaluate(interp, frame, node.iter)
    with interp.looping():
        return _loop(interp, frame, node, source)


def _loop(interp: Interpreter, frame: Frame, node: ast.For | ast.AsyncFor, source: Value) -> Flow:
    source = interp.settle(source)
    if isinstance(source, Choice):
        then, other = source.then, source.other
        return _both(
            interp,
            source.key,
            lambda: _loop(interp, frame, node, then),
            lambda: _loop(interp, frame, node, other),
        )
    items: list[Value]
    found = indexing.as_seq(interp, source, node.iter)
    if found is None:
        items = [UNKNOWN] * _ROUNDS
    elif found.rest is not None:
        items = [*found.items[:_UNROLL], *[found.rest] * _ROUNDS]
    else:
        items = list(found.items[:_UNROLL])
    for value in items:
        if isinstance(value, Unknown) and isinstance(node.target, ast.Name):
            value = interp.fresh(node.target.id)
        expressions.assign(interp, frame, node.target, value)
        flow = run_block(interp, frame, node.body)
        if flow is Flow.BREAK:
            return Flow.NEXT
        if flow in (Flow.RETURN, Flow.RAISE):
            return flow if (found is not None and found.rest is None) or flow is Flow.RETURN else Flow.NEXT
    return run_block(interp, frame, node.orelse)


def _while(interp: Interpreter, frame: Frame, node: ast.While) -> Flow:
    with interp.looping():
        return _repeat(interp, frame, node)


def _repeat(interp: Interpreter, frame: Frame, node: ast.While) -> Flow:
    for _ in range(_ROUNDS):
        truth, _key = conditions.truth(interp, frame, node.test)
        if truth is False:
            return run_block(interp, frame, node.orelse)
        flow = run_block(interp, frame, node.body)
        if flow is Flow.BREAK:
            return Flow.NEXT
        if flow in (Flow.RETURN, Flow.RAISE):
            return flow
    return Flow.NEXT


def _with(interp: Interpreter, frame: Frame, node: ast.With) -> Flow:
    for entry in node.items:
        value = expressions.evaluate(interp, frame, entry.context_expr)
        if isinstance(value, Obj):  # what `__enter__` returns is the manager itself only sometimes
            value = UNKNOWN
        target = entry.optional_vars
        held = frame.vars.get(target.id) if isinstance(target, ast.Name) else None
        hands_back = isinstance(value, Unknown) and isinstance(
            held, Tensor | Choice
        )  # `with offload(x) as x`
        if target is not None and not hands_back:
            expressions.assign(interp, frame, target, value)
    return run_block(interp, frame, node.body)


def _try(interp: Interpreter, frame: Frame, node: ast.Try) -> Flow:
    catches = any(not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
    interp.catching += catches
    try:
        flow = run_block(interp, frame, node.body)
    finally:
        interp.catching -= catches
    if flow is Flow.RAISE and node.handlers:
        flow = run_block(interp, frame, node.handlers[0].body)
    elif flow is Flow.NEXT:
        flow = run_block(interp, frame, node.orelse)
    final = run_block(interp, frame, node.finalbody)
    return final if final is not Flow.NEXT else flow


def _raise(interp: Interpreter, frame: Frame, node: ast.Raise) -> Flow:
    return Flow.RAISE


def _assert(interp: Interpreter, frame: Frame, node: ast.Assert) -> Flow:
    truth, key = conditions.truth(interp, frame, node.test)
    if truth is None:
        interp.branch = {**interp.branch, **implied(key, True)}
    elif truth is False:
        conditions.note_refused(interp, frame, node.test)
        return Flow.RAISE
    return Flow.NEXT


def _break(interp: Interpreter, frame: Frame, node: ast.Break) -> Flow:
    return Flow.BREAK


def _continue(interp: Interpreter, frame: Frame, node: ast.Continue) -> Flow:
    return Flow.CONTINUE


def _function(interp: Interpreter, frame: Frame, node: ast.FunctionDef) -> Flow:
    closure = {**(frame.closure or {}), **frame.vars}
    func = Func(node, frame.module, closure, frame.owner)
    closure[node.name] = func
    interp.write(frame.vars, node.name, func)
    return Flow.NEXT


def _class(interp: Interpreter, frame: Frame, node: ast.ClassDef) -> Flow:
    interp.write(frame.vars, node.name, UNKNOWN)
    return Flow.NEXT


def _import(interp: Interpreter, frame: Frame, node: ast.Import | ast.ImportFrom) -> Flow:
    importing.bind(interp, frame, node)
    return Flow.NEXT


def _delete(interp: Interpreter, frame: Frame, node: ast.Delete) -> Flow:
    for target in node.targets:
        if isinstance(target, ast.Name) and target.id in frame.vars:
            interp.write(frame.vars, target.id, UNKNOWN)
    return Flow.NEXT


def _match(interp: Interpreter, frame: Frame, node: ast.Match) -> Flow:
    expressions.evaluate(interp, frame, node.subject)
    rest = list(node.cases)

    def run(index: int) -> Flow:
        if index == len(rest):
            return Flow.NEXT
        case = rest[index]
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
            return run_block(interp, frame, case.body)
        key = f"match {as_code(node.subject)} {as_code(case.pattern)}@{frame.serial}"
        return _both(interp, key, lambda: run_block(interp, frame, case.body), lambda: run(index + 1))

    return run(0)


_HANDLERS: dict[type, Callable[..., Flow]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Delete: _delete,
    ast.Match: _match,
}
