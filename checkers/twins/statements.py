"""Bodies of methods: what they return, and what they leave in names and attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .entering import Local
from .expressions import bind_each, trace
from .frames import Frame
from .names import ALIASES, OPERATORS
from .nodes import Node
from .simplify import binary, choice, item, truth

DEAD = "dead"
"""The operation of a path that ends in an error."""


def run(body: Sequence[ast.stmt], frame: Frame) -> Node | None:
    """Trace statements in order. The value returned, a dead node where an error is raised, None at the end."""
    for index, statement in enumerate(body):
        if isinstance(statement, ast.If):
            result = _branches(statement, body[index + 1 :], frame)
            if result is not None:
                return result[0]
            continue
        result_ = _statement(statement, frame)
        if result_ is not None:
            return result_
    return None


def _branches(statement: ast.If, rest: Sequence[ast.stmt], frame: Frame) -> tuple[Node | None] | None:
    """None where the trace goes on behind the `if`; else what the whole returns."""
    test = trace(statement.test, frame)
    known = truth(test)
    if known is not None:
        done = run(statement.body if known else statement.orelse, frame)
        return None if done is None else (done,)
    yes, no = frame.copy(), frame.copy()
    first, second = run(statement.body, yes), run(statement.orelse, no)
    for result, other, frame_ in ((first, second, no), (second, first, yes)):
        if result is not None and result.op == DEAD:
            frame.env = frame_.env
            return None if other is None else (other,)
    if first is None and second is None:
        _merge(frame, test, yes, no, statement)
        return None
    goes_on = no if first is not None else yes
    first = first if first is not None else run(rest, yes)
    second = second if second is not None else run(rest, no)
    frame.env = goes_on.env
    if first is None or second is None:
        return (first or second,)
    if DEAD in (first.op, second.op):
        return (second if first.op == DEAD else first,)
    return (choice(test, first, second, statement, frame),)


def _merge(frame: Frame, test: Node, yes: Frame, no: Frame, at: ast.If) -> None:
    for name in dict.fromkeys((*yes.env, *no.env)):
        a, b = yes.env.get(name), no.env.get(name)
        unset = frame.node("self", (), at, value=name[5:]) if name.startswith("self.") else None
        a, b = a or unset, b or unset
        if a is not None and b is not None:
            frame.env[name] = choice(test, a, b, at, frame)
        else:
            frame.env[name] = a or b or frame.constant(None, at)


def _statement(statement: ast.stmt, frame: Frame) -> Node | None:
    if isinstance(statement, ast.Return):
        return trace(statement.value, frame) if statement.value else frame.constant(None, statement)
    if isinstance(statement, ast.Raise):
        return frame.node(DEAD, (), statement)
    if isinstance(statement, ast.Assign):
        value = trace(statement.value, frame)
        for target in statement.targets:
            assign(target, value, frame)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        assign(statement.target, trace(statement.value, frame), frame)
    elif isinstance(statement, ast.AugAssign):
        read = ast.copy_location(ast.parse(ast.unparse(statement.target), mode="eval").body, statement.target)
        ast.fix_missing_locations(read)
        op = OPERATORS[type(statement.op)]
        value = binary(op, trace(read, frame), trace(statement.value, frame), statement, frame)
        assign(statement.target, value, frame)
    elif isinstance(statement, ast.Expr):
        _effect(statement.value, frame)
    elif isinstance(statement, ast.With):
        return run(statement.body, frame)
    elif isinstance(statement, ast.Try):
        return run([*statement.body, *statement.orelse, *statement.finalbody], frame)
    elif isinstance(statement, ast.For):
        return _loop(statement, frame)
    elif isinstance(statement, ast.FunctionDef):
        local = frame.node(
            "local", (), statement, value=ast.unparse(statement), ref=Local(statement, frame.copy())
        )
        frame.env[statement.name] = local
    elif isinstance(statement, ast.While):
        for name in _stored(statement):
            frame.env[name] = frame.node("opaque", (), statement, value=ast.unparse(statement))
    return None


def assign(target: ast.expr, value: Node, frame: Frame) -> None:
    """Store a value; a sequence that is unpacked gives its elements."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            assign(part, _part(value, index, part, frame), frame)
    elif isinstance(target, ast.Attribute):
        if isinstance(target.value, ast.Name) and target.value.id == frame.self_name:
            frame.env[f"self.{target.attr}"] = value
        elif isinstance(target.value, ast.Name) and target.value.id in frame.env:
            name = frame.constant(target.attr, target)
            changed = frame.node("setattr", [frame.env[target.value.id], name, value], target)
            frame.env[target.value.id] = changed
    elif isinstance(target, ast.Subscript):
        base = trace(target.value, frame)
        changed = frame.node("setitem", [base, trace(target.slice, frame), value], target)
        assign(target.value, changed, frame)


def _part(value: Node, index: int, at: ast.AST, frame: Frame) -> Node:
    if value.op == "received":
        return frame.node("getitem", [value, frame.constant(index, at)], at)
    return item(value, frame.constant(index, at), at, frame)


def _effect(node: ast.expr, frame: Frame) -> None:
    """A call for what it changes: an initialisation, a buffer, a list that grows, a method of the class."""
    if not isinstance(node, ast.Call):
        return
    func = node.func
    if isinstance(func, ast.Attribute):
        if func.attr in ("register_buffer", "register_parameter") and len(node.args) > 1:
            name = node.args[0]
            if isinstance(name, ast.Constant):
                parts, spots = [trace(node.args[1], frame)], [node.args[1]]
                kept = next((word.value for word in node.keywords if word.arg == "persistent"), None)
                parts.append(frame.constant(True, node) if kept is None else trace(kept, frame))
                spots.append(node if kept is None else kept)
                frame.env[f"self.{name.value!s}"] = frame.node("buffer", parts, node, spots=spots)
            return
        if func.attr in ("append", "add_module") and node.args:
            grown = trace(func.value, frame)
            parts = [grown, *(trace(arg, frame) for arg in node.args)]
            if isinstance(func.value, ast.Name | ast.Attribute):
                assign(func.value, frame.node("append", parts, node), frame)
            return
    value = trace(node, frame)
    op = value.op.removeprefix("f:")
    if op.endswith("_") and not op.endswith("__") and value.args and ALIASES.get(op, op) == op:
        target = node.args[0] if node.args and not _is_method_of_value(node, frame) else None
        if target is None and isinstance(func, ast.Attribute):
            target = func.value
        if isinstance(target, ast.Name | ast.Attribute):
            assign(target, value, frame)


def _is_method_of_value(node: ast.Call, frame: Frame) -> bool:
    func = node.func
    if not isinstance(func, ast.Attribute):
        return False
    root = func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and (root.id in frame.env or root.id == frame.self_name)


def _loop(statement: ast.For, frame: Frame) -> Node | None:
    """A loop is its body on what it carries from turn to turn."""
    iterated = trace(statement.iter, frame)
    trial = frame.copy()
    trial.loops += 1
    bind_each(statement.target, statement, trial)
    before = dict(trial.env)
    run(statement.body, trial)
    changed = [
        name for name, value in trial.env.items() if name not in before or before[name].key != value.key
    ]
    inner = frame.copy()
    inner.loops += 1
    bind_each(statement.target, statement, inner)
    carried = [name for name in changed if name in frame.env]
    for index, name in enumerate(carried):
        inner.env[name] = frame.node("carried", (), statement, value=(inner.loops, index))
    result = run(statement.body, inner)
    if result is not None and result.op != DEAD:
        return frame.node(
            "first turn", [iterated, result], statement, spots=[statement.iter, result.spot.node]
        )
    for name in changed:
        start = [frame.env[name]] if name in frame.env else []
        parts = [iterated, inner.env[name], *start]
        frame.env[name] = frame.node("loop", parts, statement, spots=[statement.iter, statement, statement])
    return None


def _stored(statement: ast.stmt) -> list[str]:
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
