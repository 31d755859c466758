"""Calls: binding arguments, running functions, building objects, calling modules."""

from __future__ import annotations

import ast
from typing import Any

from ..facts.module import ClassFacts
from . import binding, builtin_calls, expressions, layers, statements, tensors
from .events import Built, EntryCalled, Event, NoneUsed, PairUsed, Rejected, UnknownKey
from .interpreter import MAX_DEPTH, MAX_SAME_FUNCTION, Frame, Interpreter
from .providers import Provider, provider_for
from .values import (
    NONE,
    UNKNOWN,
    Bound,
    Choice,
    Cls,
    Const,
    Func,
    Heap,
    Known,
    NoEntry,
    NothingReturned,
    Obj,
    ObjMethod,
    Pair,
    Partial,
    Seq,
    Super,
    Sym,
    Table,
    Tensor,
    TensorMethod,
    Value,
    choose,
)

Kwargs = dict[str, Value]

PLATFORM_OPS = frozenset({"CustomOp", "MultiPlatformOp", "PluggableLayer", "TensorSchema"})
"""vLLM's and SGLang's bases that pick a kernel, or check shapes, when the job runs: `forward_native` is what they compute."""

OPEN = "**"
"""Key under which the unknown rest of `**kwargs` travels."""


def call_node(interp: Interpreter, frame: Frame, node: ast.Call) -> Value:
    """Evaluate a call expression."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and "super" not in frame.vars:
        return _super(interp, frame, node)
    callee = expressions.evaluate(interp, frame, node.func)
    found = expressions.elements(interp, frame, node.args)
    args, open_args = found.items, found.rest
    kwargs: Kwargs = {}
    for keyword in node.keywords:
        value = expressions.evaluate(interp, frame, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, Heap) and isinstance(value.content, Table):
            kwargs.update({key: item for key, item in value.content.entries.items() if isinstance(key, str)})
            if value.content.rest is not None:
                kwargs[OPEN] = UNKNOWN
        else:
            kwargs[OPEN] = UNKNOWN
    if open_args is not None:
        kwargs.setdefault(OPEN, UNKNOWN)
        kwargs["*"] = open_args
    return call(interp, callee, args, kwargs, node)


def _super(interp: Interpreter, frame: Frame, node: ast.Call) -> Value:
    target = frame
    self_value = target.vars.get("self") or target.vars.get("cls") or (target.closure or {}).get("self")
    if self_value is None or target.owner is None:
        return UNKNOWN
    after = target.owner
    if node.args:  # super(Base, self): what comes after Base
        named = expressions.evaluate(interp, frame, node.args[0])
        if not isinstance(named, Cls) or named.facts is None:
            return UNKNOWN
        after = named.facts
    return Super(self_value, after)


def call(interp: Interpreter, callee: Value, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """Call a value."""
    interp.spend()
    callee = interp.settle(callee)
    if isinstance(callee, Choice):
        return interp.lift(lambda value: call(interp, value, args, kwargs, node), callee)
    if isinstance(callee, Func):
        return run_function(interp, callee, args, kwargs, node)
    if isinstance(callee, Bound):
        return run_function(interp, callee.func, (callee.self, *args), kwargs, node)
    if isinstance(callee, Partial):
        return call(interp, callee.func, (*callee.args, *args), {**callee.kwargs, **kwargs}, node)
    if isinstance(callee, Cls):
        return construct(interp, callee, args, kwargs, node)
    if isinstance(callee, Obj):
        return call_object(interp, callee, args, kwargs, node)
    if isinstance(callee, Known):
        return builtin_calls.call_known(interp, callee.dotted, args, kwargs, node)
    if isinstance(callee, TensorMethod):
        return tensors.method(interp, callee.owner, callee.name, args, kwargs, node)
    if isinstance(callee, ObjMethod):
        return builtin_calls.call_method(interp, callee, args, kwargs, node)
    if isinstance(callee, Seq):
        if len(callee.items) == 2 and all(isinstance(i, Const) and isinstance(i.value, str) for i in callee.items):
            entry = ", ".join(repr(item.value) for item in callee.items if isinstance(item, Const))
            interp.emit(EntryCalled, node, entry=f"({entry})")
        return UNKNOWN
    if isinstance(callee, NoEntry):
        note_missing(interp, callee.table, callee.key, node)
        return UNKNOWN
    return unknown_call(interp, callee, args, node)


_ELEMENTWISE_WORDS = ("act", "gelu", "silu", "relu", "swish", "dropout", "sigmoid", "tanh")


def unknown_call(interp: Interpreter, callee: Value, args: tuple[Value, ...], node: ast.expr) -> Value:
    """A callable nothing is known of: an activation by its name keeps the state, anything else loses it."""
    name = ""
    if isinstance(node, ast.Call):
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if len(args) == 1 and name and any(name.lower().startswith(word) or f"_{word}" in name.lower() for word in _ELEMENTWISE_WORDS):
        return interp.lift(lambda value: value.but(width=None) if isinstance(value, Tensor) else UNKNOWN, args[0])
    if isinstance(callee, Sym) and not args and name.startswith(("get_", "is_")):
        return Sym.named(f"{callee.text}()")
    return UNKNOWN


# -- functions --------------------------------------------------------------------------------------------------


def run_function(interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """Run a function of the tree on abstract arguments."""
    if interp.depth >= MAX_DEPTH or _times_running(interp, func.node) >= MAX_SAME_FUNCTION:
        return UNKNOWN
    if func.owner is not None and func.owner.name in PLATFORM_OPS:
        return NONE
    special = builtin_calls.special_function(interp, func, args, kwargs, node)
    if special is not None:
        return special
    if isinstance(func.node, ast.FunctionDef) and (interp.is_opaque(func.module) or _is_generator(func.node)):
        return UNKNOWN
    if func.owner is None and func.closure is None:
        return _run_plain(interp, func, args, kwargs, node)
    return _run_bound(interp, func, args, kwargs, node)


def _run_plain(interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """A module-level function: the same numbers give the same result, so it is run once for each."""
    given = tuple(_content(value) for value in (*args, *kwargs.values()))
    if not all(_is_plain(value) for value in given):
        return _run_bound(interp, func, args, kwargs, node)
    whys = tuple(value.why for value in given if isinstance(value, Tensor))
    key = (id(func.node), given, whys, tuple(kwargs), _freeze_conditions(interp))
    if key in interp.pure:
        return interp.pure[key]
    result = _run_bound(interp, func, args, kwargs, node)
    unchanged = all(_content(value) is old for value, old in zip((*args, *kwargs.values()), given, strict=True))
    if unchanged and _is_plain(result):
        interp.pure[key] = result
    return result


def _content(value: Value) -> Value:
    """What a list holds now, for comparing; any other value itself."""
    return value.content if isinstance(value, Heap) and value.kind == "list" else value


def _is_plain(value: Value) -> bool:
    """Whether a value is a number, a name or a tuple of them: nothing that code could change."""
    if isinstance(value, Seq):
        return all(_is_plain(item) for item in value.items) and (value.rest is None or _is_plain(value.rest))
    if isinstance(value, Const):
        return isinstance(value.value, int | float | str | bool | None)
    if isinstance(value, Choice):
        return _is_plain(value.then) and _is_plain(value.other)
    return isinstance(value, Sym | Tensor | Cls) or value is UNKNOWN


def _run_bound(interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    assert interp.frame is not None
    defaults = Frame(func.module, {}, func.owner, None, func.closure)
    bound, problem = binding.bind(interp, defaults, func.node, args, kwargs)
    if problem is not None:
        text, parameter = problem
        name = getattr(func.node, "name", "<lambda>")
        what = "constructor" if name == "__init__" else "forward" if name == "forward" else "function"
        interp.emit(Rejected, node, target=name, problem=text, what=what, holder=func.owner, parameter=parameter)
    frame = Frame(
        func.module,
        bound,
        func.owner,
        func.node,
        func.closure,
        interp.frame,
        interp.site(node),
        entry_conditions=frozenset({**interp.branch, **interp.choice}),
        serial=_frame_serial(interp, func, bound),
    )
    return run_frame(interp, frame)


def _frame_serial(interp: Interpreter, func: Func, bound: Kwargs) -> int:
    """Frames of one object share the text of open conditions, so that a flag read in two methods is one flag."""
    owner = bound.get("self")
    return owner.serial if isinstance(owner, Obj) else next(interp._serial)


def run_frame(interp: Interpreter, frame: Frame) -> Value:
    """Run the body of a prepared frame and join what it returns."""
    func = frame.function
    interp.made(frame.vars)
    outer, branch = interp.frame, interp.branch
    owner = frame.vars.get("self")
    known = owner.known if isinstance(owner, Obj) else {}
    interp.frame, interp.branch = frame, {**branch, **known}
    interp.depth += 1
    interp.visited.add(id(func))
    try:
        if isinstance(func, ast.Lambda):
            return expressions.evaluate(interp, frame, func.body)
        assert isinstance(func, ast.FunctionDef)
        flow = statements.run_block(interp, frame, func.body)
        if func.name == "__init__" and isinstance(owner, Obj):
            owner.known = {**known, **{key: side for key, side in interp.branch.items() if key not in branch}}
    finally:
        interp.depth -= 1
        interp.frame, interp.branch = outer, branch
    falls = flow is statements.Flow.NEXT
    return join_returns(frame, falls)


def join_returns(frame: Frame, falls_through: bool) -> Value:
    """The value of a call: every return under its conditions, None where the end is reached."""
    nothing: Value = NONE
    if getattr(frame.function, "name", "") == "forward" and frame.owner is not None:
        nothing = NothingReturned(None, f"{frame.owner.name}.forward")
    tail: Value | None = nothing if falls_through else None
    for conditions, value, node in reversed(frame.returns):
        if isinstance(node, ast.Return) and node.value is None:
            value = nothing
        if tail is None:
            tail = value
            continue
        joined = value
        for key, side in reversed(conditions.items()):
            joined = choose(key, joined, tail) if side else choose(key, tail, joined)
        tail = joined
    return tail if tail is not None else UNKNOWN


def _times_running(interp: Interpreter, node: ast.AST) -> int:
    count, frame = 0, interp.frame
    while frame is not None:
        count += frame.function is node
        frame = frame.parent
    return count


def _is_generator(function: ast.FunctionDef) -> bool:
    found = getattr(function, "_has_yield", None)
    if found is None:
        found = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(function))
        function._has_yield = found  # type: ignore[attr-defined]
    return bool(found)


# -- objects ----------------------------------------------------------------------------------------------------


def provider_of_class(interp: Interpreter, cls: ClassFacts) -> Provider | None:
    """The provider row of a class of the tree itself (not of its bases)."""
    return provider_for(interp.project, cls)


def provider_of(interp: Interpreter, obj: Obj) -> Provider | None:
    """The provider row an object follows: its class's own, or that of the nearest base that has one."""
    row = obj.attrs.get("__provider__")
    return row.value if isinstance(row, Const) else None


def construct(
    interp: Interpreter, cls: Cls, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr, as_root: bool = False
) -> Value:
    """Build an instance: run its constructor, or bind the arguments of a layer that is not read.

    A parallel layer of the tree is read only when it is the root itself.
    """
    obj = Obj(cls, made_at=interp.site(node))
    interp.made(obj.attrs)
    if cls.facts is None:
        return layers.build_external(interp, obj, args, kwargs, node)
    row = provider_for(interp.project, cls.facts)
    if row is not None and not as_root:
        layers.build_parallel(interp, obj, row, args, kwargs, node)
        return obj
    if cls.facts.is_dataclass():
        _fill_dataclass(interp, obj, cls.facts, args, kwargs)
        return obj
    method = interp.project.method(cls.facts, "__init__")
    base_row = _base_provider(interp, cls.facts)
    externals = [entry for entry in interp.project.mro(cls.facts) if not isinstance(entry, ClassFacts)]
    if method is None:
        if base_row is not None and not as_root:
            layers.build_parallel(interp, obj, base_row, args, kwargs, node)
        elif externals:
            layers.fill_external(interp, obj, externals[0].dotted, args, kwargs)
        obj.opaque = bool(externals)
        return obj
    if base_row is not None and base_row.kind == "plain":
        obj.opaque = True
    func = Func(method[1], method[0].module, None, method[0])
    interp.emit(Built, node, obj=obj, positional=len(args), keywords=dict(kwargs), open_keywords=OPEN in kwargs)
    if interp.is_opaque(cls.facts.module):
        obj.opaque = True
        return obj
    alone = as_root or interp.stop_at is not None
    key = None if alone else _twin_key(interp, cls, args, kwargs)
    if key is not None and key in interp.twins:
        return interp.twins[key]
    before = len(interp.log.events)
    obj.args = binding.names_of(interp, method[1], (obj, *args), kwargs)
    if interp.stop_at is not None and cls.facts is not interp.root and interp.stop_at(obj, method[1]):
        return obj
    run_function(interp, func, (obj, *args), kwargs, node)
    if key is not None and not any(_concerns_caller(event) for event in interp.log.events[before:]):
        interp.twins[key] = obj
    return obj


def _concerns_caller(event: Event) -> bool:
    """Whether something is wrong with the call itself, which must be seen at every call."""
    if isinstance(event, Built) and event.contract is not None and "config" in event.contract.required:
        return event.obj.args.get("config", NONE) == NONE
    return isinstance(event, Rejected | UnknownKey | EntryCalled)


def _twin_key(interp: Interpreter, cls: Cls, args: tuple[Value, ...], kwargs: Kwargs) -> Any:
    """Modules built from the same arguments behave alike, so the second stands for the first; rates do not count."""
    given = tuple(_content(value) for value in (*args, *kwargs.values()))
    if not all(_is_plain(value) for value in given):
        return None
    return (id(cls.facts), tuple(_rounded(value) for value in given), tuple(kwargs), _freeze_conditions(interp))


def _rounded(value: Value) -> Value:
    """A fraction by its sign: how often something is dropped changes no shape."""
    if isinstance(value, Const) and isinstance(value.value, float):
        return Const(float((value.value > 0) - (value.value < 0)))
    if isinstance(value, Seq):
        return Seq(tuple(_rounded(item) for item in value.items), value.rest, value.kind)
    return value


def _base_provider(interp: Interpreter, cls: ClassFacts) -> Provider | None:
    for entry in interp.project.mro(cls)[1:]:
        row = provider_for(interp.project, entry)
        if row is not None:
            return row
    return None


def _fill_dataclass(interp: Interpreter, obj: Obj, cls: ClassFacts, args: tuple[Value, ...], kwargs: Kwargs) -> None:
    from . import attributes

    names: list[str] = []
    for entry in reversed(interp.project.mro(cls)):
        if isinstance(entry, ClassFacts):
            for name in entry.annotations:
                if name not in names:
                    names.append(name)
                if name in entry.constants:
                    obj.attrs[name] = attributes.module_expression(interp, entry, entry.constants[name])
    for name, value in zip(names, args, strict=False):
        obj.attrs[name] = value
    for name, value in kwargs.items():
        if name in names:
            obj.attrs[name] = value
    for name, value in list(obj.attrs.items()):
        if isinstance(value, Obj) and value.cls.dotted == "dataclasses.field" or isinstance(value, Known):
            obj.attrs[name] = UNKNOWN


def call_object(interp: Interpreter, obj: Obj, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """`module(x)`: its forward, a parallel layer's contract, or a library module's."""
    row = provider_of(interp, obj)
    facts = obj.cls.facts
    forward = _forward(interp, obj, facts) if facts is not None else None
    if row is not None and forward is None:
        return interp.lift(
            lambda first: layers.call_parallel(interp, obj, row, first, kwargs, node), args[0] if args else kwargs.get("input_", UNKNOWN)
        )
    if facts is None or forward is None:
        if facts is not None and obj.attrs.get("content") is None:
            return unknown_call(interp, UNKNOWN, args, node)
        return layers.call_external(interp, obj, args, kwargs, node)
    key = (obj.serial, node.lineno, node.col_offset, _freeze(args), _freeze(tuple(kwargs.items())), _freeze_conditions(interp))
    if key in interp.memo:
        return interp.memo[key]
    holder, method = forward
    result = run_function(interp, Func(method, holder.module, None, holder), (obj, *args), kwargs, node)
    interp.memo[key] = result
    return result


def _forward(interp: Interpreter, obj: Obj, facts: ClassFacts) -> tuple[ClassFacts, ast.FunctionDef] | None:
    """The forward an object runs, unless a provider's own comes first."""
    for entry in interp.project.mro(facts):
        if provider_for(interp.project, entry) is not None:
            return None
        if isinstance(entry, ClassFacts):
            if entry.name in PLATFORM_OPS:
                return interp.project.method(facts, "forward_native")
            for name in ("forward", "__call__"):
                if name in entry.methods:
                    return entry, entry.methods[name]
    return None


def _freeze(values: Any) -> Any:
    if isinstance(values, tuple):
        return tuple(_freeze(value) for value in values)
    if isinstance(values, Obj | Heap):
        return values.serial
    if isinstance(values, Tensor):
        return values.but(why=None)
    try:
        hash(values)
    except TypeError:
        return id(values)
    return values


def _freeze_conditions(interp: Interpreter) -> Any:
    return (tuple(sorted(interp.branch.items())), tuple(sorted(interp.choice.items())))


def look_up(interp: Interpreter, table: Table, index: Value, node: ast.expr) -> Value:
    """`table[index]`"""
    if isinstance(index, Const | Cls):
        key = index.value if isinstance(index, Const) else index
        try:
            if key in table.entries:
                return interp.settle(table.entries[key])
        except TypeError:
            return UNKNOWN
        if table.rest is None and table.name and isinstance(key, str):
            note_missing(interp, table, key, node)
            return UNKNOWN
        return table.rest if table.rest is not None else UNKNOWN
    return UNKNOWN


def note_missing(interp: Interpreter, table: Table, key: str, node: ast.expr) -> None:
    """A named table of classes has no such key."""
    choices = tuple(str(entry) for entry in table.entries)
    interp.emit(UnknownKey, node, key_name=key, registry=table.name, choices=choices)


def note_unpacked(interp: Interpreter, pair: Pair, target: ast.expr) -> None:
    """The pair is taken apart; whether its bias is used decides E7113."""
    from .events import BiasDropped

    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2 and isinstance(pair.bias, Tensor):
        second = target.elts[1]
        if isinstance(second, ast.Name) and second.id.startswith("_"):
            interp.emit(BiasDropped, target, pair=pair)


def as_tensor(interp: Interpreter, value: Value, node: ast.expr, how: str) -> Value:
    """A value about to be used as a tensor: a pair is reported, and its output goes on."""
    value = interp.settle(value)
    if isinstance(value, Pair):
        is_passed = isinstance(node, ast.Call) and bool(node.args) and how.startswith("it is passed")
        interp.emit(PairUsed, node.args[0] if is_passed else node, pair=value, how=how)  # type: ignore[attr-defined]
        return interp.settle(value.output)
    if isinstance(value, NothingReturned):
        interp.emit(NoneUsed, node, forward=value.forward, how=how)
    return value
