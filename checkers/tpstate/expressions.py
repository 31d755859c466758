"""Evaluating expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..facts.module import ClassFacts, ModuleFacts
from ..project.project import External, FunctionRef, NamespaceRef, Ref, ValueRef
from . import arithmetic, attributes, calls, conditions
from .interpreter import Frame, Interpreter, OutOfFuel
from .values import (
    NONE,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Func,
    Heap,
    Known,
    Mod,
    Obj,
    Seq,
    Slice,
    Sym,
    Table,
    Tensor,
    Value,
)

_UNROLL = 32
_MAX_ITEMS = 4096


def evaluate(interp: Interpreter, frame: Frame, node: ast.expr) -> Value:
    """The value of an expression in `frame`; UNKNOWN for what is not modelled."""
    interp.fuel -= 1
    if interp.fuel < 0:
        raise OutOfFuel
    if type(node) is ast.Name:
        value = frame.vars.get(node.id) or lookup(interp, frame, node.id)
        if type(value) is Tensor and value.role == "gathered":
            interp.note_use(value.tag, node)
        return interp.settle(value) if type(value) is Choice else value
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    value = handler(interp, frame, node)
    return interp.settle(value) if type(value) is Choice else value


def _constant(interp: Interpreter, frame: Frame, node: ast.Constant) -> Value:
    return Const(node.value)


def lookup(interp: Interpreter, frame: Frame, name: str) -> Value:
    """A variable: local, enclosing, module level, builtin."""
    if name in frame.vars:
        return frame.vars[name]
    if frame.closure is not None and name in frame.closure:
        return frame.closure[name]
    return global_value(interp, frame.module, name)


def global_value(interp: Interpreter, module: ModuleFacts, name: str) -> Value:
    """The value of a module-level name, computed once."""
    key = (id(module), name)
    if key not in interp.globals:
        if key in interp.reading:
            return UNKNOWN
        interp.reading.add(key)
        try:
            interp.globals[key] = of_ref(interp, interp.project.resolve(module, name), name)
        finally:
            interp.reading.discard(key)
    return interp.globals[key]


def of_ref(interp: Interpreter, ref: Ref | None, name: str) -> Value:
    """The value of a resolved name."""
    if ref is None:
        return Known(f"builtins.{name}")
    if isinstance(ref, ClassFacts):
        return Cls(ref.dotted, ref)
    if isinstance(ref, FunctionRef):
        return Func(ref.node, ref.module)
    if isinstance(ref, ModuleFacts):
        return Mod(ref, ref.name)
    if isinstance(ref, NamespaceRef):
        return Mod(None, ref.dotted)
    if isinstance(ref, External):
        return external(ref.dotted)
    key = (id(ref.module), f"={ref.name}:{ref.node.lineno}")
    if key not in interp.globals:
        if key in interp.reading:
            return UNKNOWN
        interp.reading.add(key)
        try:
            interp.globals[key] = _module_value(interp, ref)
        finally:
            interp.reading.discard(key)
    return interp.globals[key]


def _module_value(interp: Interpreter, ref: ValueRef) -> Value:
    frame = Frame(ref.module)
    outer = (interp.branch, interp.choice, interp.frame, interp.journals)
    interp.branch, interp.choice, interp.frame, interp.journals = {}, {}, frame, []
    try:
        value = evaluate(interp, frame, ref.node)
    finally:
        interp.branch, interp.choice, interp.frame, interp.journals = outer
    if isinstance(value, Heap) and isinstance(value.content, Table):
        grown = any(mark in ref.module.text for mark in (f"{ref.name}[", f"{ref.name}.update", f"{ref.name}.setdefault"))
        content = value.content
        written = grown and _is_written(ref.module.tree, ref.name)
        value.attrs["content"] = Table(content.entries, UNKNOWN if written else content.rest, ref.name)
    return value


def _is_written(tree: ast.Module, name: str) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == name:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == name:
                if node.func.attr in ("update", "setdefault"):
                    return True
    return False


def external(dotted: str) -> Value:
    """A name of a library: a class when it looks like one, else a function or constant."""
    owner, _, last = dotted.rpartition(".")
    is_constant = last.isupper() and owner != "torch.nn"  # nn.GELU and nn.ELU are classes
    if last[:1].isupper() and not is_constant:
        return Cls(dotted)
    return Known(dotted)


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
        return attributes.item(interp, owner, index, node)
    return interp.lift(lambda value, at: attributes.item(interp, value, at, node), owner, index)


def _slice(interp: Interpreter, frame: Frame, node: ast.Slice) -> Value:
    parts = [evaluate(interp, frame, part) if part is not None else NONE for part in (node.lower, node.upper, node.step)]
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
        if isinstance(node, ast.Starred):
            spread = attributes.as_seq(interp, evaluate(interp, frame, node.value))
            if spread is None:
                rest = UNKNOWN
            elif len(items) + len(spread.items) > _MAX_ITEMS:
                rest = UNKNOWN
            else:
                items += spread.items
                rest = spread.rest if rest is None else UNKNOWN
        elif rest is not None:
            evaluate(interp, frame, node)
            rest = UNKNOWN
        else:
            items.append(evaluate(interp, frame, node))
    return Seq(tuple(items), rest)


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


def _comprehension(interp: Interpreter, frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
    inner = Frame(
        frame.module, {}, frame.owner, frame.function, {**(frame.closure or {}), **frame.vars}, frame.parent, frame.call,
        entry_conditions=frame.entry_conditions, serial=frame.serial,
    )  # fmt: skip
    found = _generate(interp, inner, node.generators, lambda: evaluate(interp, inner, node.elt))
    return Heap("list", {"content": found}) if isinstance(node, ast.ListComp) else found


def _dict_comprehension(interp: Interpreter, frame: Frame, node: ast.DictComp) -> Value:
    inner = Frame(
        frame.module, {}, frame.owner, frame.function, {**(frame.closure or {}), **frame.vars}, frame.parent, frame.call,
        entry_conditions=frame.entry_conditions, serial=frame.serial,
    )  # fmt: skip
    entries: dict[object, Value] = {}
    open_keys: list[Value] = []

    def pair() -> Value:
        key, value = evaluate(interp, inner, node.key), evaluate(interp, inner, node.value)
        if isinstance(key, Const):
            entries[key.value] = value
        else:
            open_keys.append(value)
        return value

    found = _generate(interp, inner, node.generators, pair)
    rest = UNKNOWN if open_keys or found.rest is not None else None
    if found.rest is not None:  # a filter that cannot be decided, or a source that is open: no key is certain
        entries = {}
    return Heap("dict", {"content": Table(entries, open_keys[-1] if open_keys else rest)})


def _generate(
    interp: Interpreter, frame: Frame, generators: list[ast.comprehension], make: Callable[[], Value]
) -> Seq:
    head, *tail = generators
    source = attributes.as_seq(interp, evaluate(interp, frame, head.iter), head.iter)
    items: list[Value] = []
    rest: Value | None = None
    produce: Callable[[], Seq] = (
        (lambda: _generate(interp, frame, tail, make)) if tail else (lambda: Seq((make(),)))
    )

    def run(value: Value) -> Seq | None:
        assign(interp, frame, head.target, value)
        sure = True
        for test in head.ifs:
            truth, _ = conditions.truth(interp, frame, test)
            if truth is False:
                return None
            sure = sure and truth is True
        made = produce()
        return made if sure else Seq((), made.items[0] if made.items else made.rest)

    if source is not None and len(source.items) <= _UNROLL:
        for value in source.items:
            made = run(value)
            if made is not None:
                items += made.items if rest is None else ()
                rest = made.rest if made.rest is not None else rest
    if source is None or source.rest is not None or len(source.items) > _UNROLL:
        made = run(UNKNOWN if source is None or source.rest is None else source.rest)
        if made is not None:
            rest = made.items[0] if made.items else made.rest
    return Seq(tuple(items), rest)


def _conditional(interp: Interpreter, frame: Frame, node: ast.IfExp) -> Value:
    truth, key = conditions.truth(interp, frame, node.test)
    if truth is not None:
        return evaluate(interp, frame, node.body if truth else node.orelse)
    return fork(
        interp, key, lambda: evaluate(interp, frame, node.body), lambda: evaluate(interp, frame, node.orelse)
    )


def fork(interp: Interpreter, key: str, then: Callable[[], Value], other: Callable[[], Value]) -> Value:
    """The value of an undecided conditional: both sides, each under its condition."""
    from .values import choose

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
    texts = [ast.unparse(part) for part in node.values]
    if all(isinstance(part, ast.Name | ast.Attribute | ast.Constant) for part in node.values):
        return Sym.named(f"({(' or ' if is_or else ' and ').join(texts)})@{frame.serial}")
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
        if not isinstance(value, Const) or isinstance(part, ast.FormattedValue) and part.format_spec is not None:
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
        interp.write(frame.vars, target.id, value)  # type: ignore[arg-type]
    elif isinstance(target, ast.Tuple | ast.List):
        attributes.unpack(interp, frame, target, value)
    elif isinstance(target, ast.Starred):
        assign(interp, frame, target.value, value)
    elif isinstance(target, ast.Attribute):
        owner = interp.settle(evaluate(interp, frame, target.value))
        if isinstance(owner, Obj):
            if isinstance(value, Obj) and not value.name:
                value.name = target.attr
            interp.write(owner.attrs, target.attr, value)  # type: ignore[arg-type]
    elif isinstance(target, ast.Subscript):
        owner = interp.settle(evaluate(interp, frame, target.value))
        index = evaluate(interp, frame, target.slice)
        attributes.store_item(interp, owner, index, value)


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

