"""Evaluating expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..facts.nodes import as_code
from . import arithmetic, attributes, calls, comprehensions, conditions, indexing, lookups, marks, parts
from .callables import Func
from .choices import Choice, choose
from .frames import Frame, OutOfFuel
from .interpreter import Interpreter
from .values import MAX_ITEMS, NONE, UNKNOWN, Cls, Const, Heap, Obj, Seq, Slice, Sym, Table, Tensor, Value


def evaluate(interp: Interpreter, frame: Frame, node: ast.expr) -> Value:
    """The value of an expression in `frame`; UNKNOWN for what is not modelled."""
    interp.fuel -= 1
    if interp.fuel < 0:
        raise OutOfFuel
    if type(node) is ast.Name:
        value = frame.vars.get(node.id) or lookups.lookup(interp, frame, node.id)
        if type(value) is Tensor and value.role == "gathered":
            interp.note_use(value.tag, node)
        return interp.settle(value) if type(value) is Choice else value
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    value = handler(interp, frame, node)
    return interp.settle(value) if type(value) is Choice else value


def _constant(interp: Interpreter, frame: Frame, node: ast.Constant) -> Value:
    value: Value | None = node.__dict__.get("_value")
    if value is None:
        value = node._value = Const(node.value)  # type: ignore[attr-defined]
    return value


def _attribute(interp: Interpreter, frame: Frame, node: ast.Attribute) -> Value:
    owner = evaluate(interp, frame, node.value)
    if type(owner) is not Choice:
        return attributes.read(interp, frame, owner, node.attr, node)
    return interp.lift(lambda value: attributes.read(interp, frame, value, node.attr, node), owner)


def _call(interp: Interpreter, frame: Frame, node: ast.Call) -> Value:
    return calls.call_node(interp, frame, node)


def _subscript(interp: Interpreter, frame: Frame, node: ast.Subscript) -> Value:
    owner = evaluate(interp, frame, node.value)
    index = evaluate(interp, frame, node.slice)
    if type(owner) is not Choice and type(index) is not Choice:
        return indexing.item(interp, owner, index, node)
    return interp.lift(lambda value, at: indexing.item(interp, value, at, node), owner, index)


def _slice(interp: Interpreter, frame: Frame, node: ast.Slice) -> Value:
    parts = [
        evaluate(interp, frame, part) if part is not None else NONE
        for part in (node.lower, node.upper, node.step)
    ]
    return Slice(*parts)


def _tuple(interp: Interpreter, frame: Frame, node: ast.Tuple) -> Value:
    return elements(interp, frame, node.elts)


def _list(interp: Interpreter, frame: Frame, node: ast.List) -> Value:
    return Heap("list", {"content": elements(interp, frame, node.elts)})


def _set(interp: Interpreter, frame: Frame, node: ast.Set) -> Value:
    return elements(interp, frame, node.elts)


def elements(interp: Interpreter, frame: Frame, nodes: list[ast.expr]) -> Seq:
    """The items of a display, `*spread` included."""
    items: list[Value] = []
    rest: Value | None = None
    for node in nodes:
        if type(node) is ast.Starred:
            spread = indexing.as_seq(interp, evaluate(interp, frame, node.value))
            if spread is None or len(items) + len(spread.items) > MAX_ITEMS:
                rest = UNKNOWN
            else:
                items += spread.items
                rest = spread.rest if rest is None else UNKNOWN
        elif rest is not None:
            evaluate(interp, frame, node)
            rest = UNKNOWN
        else:
            items.append(evaluate(interp, frame, node))
    return Seq(tuple(items), rest) if items or rest is not None else NOTHING


NOTHING = Seq(())


def _dict(interp: Interpreter, frame: Frame, node: ast.Dict) -> Value:
    entries: dict[object, Value] = {}
    rest: Value | None = None
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(interp, frame, value_node)
        if key_node is None:
            if isinstance(value, Heap) and isinstance(value.content, Table):
                entries.update(value.content.entries)
                rest = value.content.rest if value.content.rest is not None else rest
            else:
                rest = UNKNOWN
            continue
        key = evaluate(interp, frame, key_node)
        if isinstance(key, Const):
            entries[key.value] = value
        elif isinstance(key, Cls):
            entries[key] = value
        else:
            rest = UNKNOWN
    return Heap("dict", {"content": Table(entries, rest)})


def _comprehension(
    interp: Interpreter, frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
) -> Value:
    return comprehensions.comprehension(interp, frame, node)


def _dict_comprehension(interp: Interpreter, frame: Frame, node: ast.DictComp) -> Value:
    return comprehensions.dict_comprehension(interp, frame, node)


def _conditional(interp: Interpreter, frame: Frame, node: ast.IfExp) -> Value:
    truth, key = conditions.truth(interp, frame, node.test)
    if truth is not None:
        return evaluate(interp, frame, node.body if truth else node.orelse)
    return fork(
        interp, key, lambda: evaluate(interp, frame, node.body), lambda: evaluate(interp, frame, node.orelse)
    )


def fork(interp: Interpreter, key: str, then: Callable[[], Value], other: Callable[[], Value]) -> Value:
    """The value of an undecided conditional: both sides, each under its condition."""
    results: list[Value] = []

    def run(side: Callable[[], Value]) -> Callable[[], bool]:
        def action() -> bool:
            results.append(side())
            return True

        return action

    while key.startswith("not "):
        key, then, other = key[4:], other, then
    interp.both(key, run(then), run(other))
    return choose(key, results[0], results[1])


def _bool_op(interp: Interpreter, frame: Frame, node: ast.BoolOp) -> Value:
    *firsts, last = node.values
    is_or = isinstance(node.op, ast.Or)
    open_keys: list[str] = []
    for part in firsts:
        value = evaluate(interp, frame, part)
        truth = conditions.truth_of(interp, value)
        if truth is None:
            open_keys.append(conditions.key_of(interp, frame, part, value))
        elif truth is is_or:
            return value if not open_keys else UNKNOWN
    if not open_keys:
        return evaluate(interp, frame, last)
    evaluate(interp, frame, last)
    texts = [as_code(part) for part in node.values]
    if all(isinstance(part, ast.Name | ast.Attribute | ast.Constant) for part in node.values):
        return Sym.named(f"({(' or ' if is_or else ' and ').join(texts)})@{frame.serial}")
    if any(isinstance(part, ast.Compare) for part in node.values):
        known, key = conditions.truth(interp, frame, node)
        return Const(known) if known is not None else Sym.named(key)
    return UNKNOWN


def _binary(interp: Interpreter, frame: Frame, node: ast.BinOp) -> Value:
    left = evaluate(interp, frame, node.left)
    right = evaluate(interp, frame, node.right)
    if type(left) is not Choice and type(right) is not Choice:
        return arithmetic.binary(interp, frame, node, left, right)
    return interp.lift(lambda a, b: arithmetic.binary(interp, frame, node, a, b), left, right)


def _unary(interp: Interpreter, frame: Frame, node: ast.UnaryOp) -> Value:
    value = evaluate(interp, frame, node.operand)
    return interp.lift(lambda a: arithmetic.unary(interp, frame, node, a), value)


def _compare(interp: Interpreter, frame: Frame, node: ast.Compare) -> Value:
    if len(node.ops) != 1:
        for part in (node.left, *node.comparators):
            evaluate(interp, frame, part)
        return UNKNOWN
    truth, key = conditions.truth(interp, frame, node)
    return Const(truth) if truth is not None else Sym.named(key)


def _lambda(interp: Interpreter, frame: Frame, node: ast.Lambda) -> Value:
    return Func(node, frame.module, {**(frame.closure or {}), **frame.vars}, frame.owner)


def _joined(interp: Interpreter, frame: Frame, node: ast.JoinedStr) -> Value:
    text = ""
    for part in node.values:
        value = evaluate(interp, frame, part.value if isinstance(part, ast.FormattedValue) else part)
        if not isinstance(value, Const) or (
            isinstance(part, ast.FormattedValue) and part.format_spec is not None
        ):
            return UNKNOWN
        text += str(value.value)
    return arithmetic.constant(text)


def _walrus(interp: Interpreter, frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(interp, frame, node.value)
    assign(interp, frame, node.target, value)
    return value


def _starred(interp: Interpreter, frame: Frame, node: ast.Starred) -> Value:
    return evaluate(interp, frame, node.value)


def _await(interp: Interpreter, frame: Frame, node: ast.Await) -> Value:
    return evaluate(interp, frame, node.value)


def assign(interp: Interpreter, frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target: a name, an attribute, an item, or a pattern of them."""
    if isinstance(target, ast.Name):
        if type(value) is Tensor and value.role == "gathered":
            value = value.but(tag=f"{value.tag}/{next(interp._serial)}")
        interp.write(frame.vars, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        indexing.unpack(interp, frame, target, value)
    elif isinstance(target, ast.Starred):
        assign(interp, frame, target.value, value)
    elif isinstance(target, ast.Attribute):
        owner = interp.settle(evaluate(interp, frame, target.value))
        if isinstance(owner, Obj):
            if isinstance(value, Obj) and not value.name:
                value.name = target.attr
            interp.write(owner.attrs, target.attr, value)
        elif isinstance(owner, Tensor) and target.attr == "partition_dim":
            marks.marked(interp, owner, value, target)
    elif isinstance(target, ast.Subscript):
        owner = interp.settle(evaluate(interp, frame, target.value))
        index = evaluate(interp, frame, target.slice)
        if isinstance(owner, Tensor) and owner.role == parts.PICK and isinstance(target.value, ast.Name):
            interp.write(frame.vars, target.value.id, parts.masked(owner))
        indexing.store_item(interp, owner, index, value)


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _bool_op,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined,
    ast.NamedExpr: _walrus,
    ast.Starred: _starred,
    ast.Await: _await,
}
