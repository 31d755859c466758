"""Calls: binding arguments, running functions, building objects, calling modules."""

from __future__ import annotations

import ast
from typing import TypeGuard

from ..language import tr
from ..project.project import External, dotted_name
from . import (
    attention,
    buffers,
    building,
    expressions,
    groups,
    layers,
    library_calls,
    object_methods,
    reshaping,
    running,
    tensors,
    tokens,
)
from .callables import Bound, Func, ObjMethod, Partial, Super, TensorMethod
from .choices import Choice, alternatives, leaves
from .events import OUTPUT_LOST, BiasDropped, EntryCalled, NoneUsed, NotAPair, PairUsed, UnknownKey
from .frames import Frame
from .interpreter import Interpreter
from .states import State
from .values import (
    OPEN,
    UNKNOWN,
    Cls,
    Const,
    Heap,
    Known,
    Kwargs,
    NoEntry,
    NothingReturned,
    Obj,
    Pair,
    Seq,
    Sym,
    Table,
    Tensor,
    Unknown,
    Value,
)


def _unpack(interp: Interpreter, value: Value, kwargs: Kwargs) -> None:
    """`**value`: what is given on one side of an open condition alone is named by the open part."""
    content = interp.settle(value.content) if isinstance(value, Heap) else UNKNOWN
    tables = [table for _, table in alternatives(content) if isinstance(table, Table)]
    if not tables or len(tables) != leaves(content) or any(table.rest is not None for table in tables):
        kwargs[OPEN] = UNKNOWN
    perhaps: dict[str, Value] = {}
    for key in [key for table in tables for key in table.entries if isinstance(key, str)]:
        first, *others = [table.entries.get(key, NoEntry(key)) for table in tables]
        if any(isinstance(side, NoEntry) for side in (first, *others)):
            perhaps[key] = UNKNOWN
        else:
            kwargs[key] = first if all(other == first for other in others) else UNKNOWN
    if perhaps:
        kwargs[OPEN] = Table(perhaps, UNKNOWN)


def call_node(interp: Interpreter, frame: Frame, node: ast.Call) -> Value:
    """Evaluate a call expression."""
    func = node.func
    name = func.attr if type(func) is ast.Attribute else func.id if type(func) is ast.Name else ""
    if name == "super" and type(func) is ast.Name and "super" not in frame.vars:
        return _super(interp, frame, node)
    if name in groups.SIZE_ASKED:
        size = groups.size_asked(node, _builds_module(interp, frame) and _asks_torch(interp, frame, node))
        if size is not None:
            return size
    callee = expressions.evaluate(interp, frame, func)
    args: tuple[Value, ...] = ()
    open_args: Value | None = None
    if node.args:
        found = expressions.elements(interp, frame, node.args)
        args, open_args = found.items, found.rest
    kwargs: Kwargs = {}
    for keyword in node.keywords:
        value = expressions.evaluate(interp, frame, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        else:
            _unpack(interp, value, kwargs)
    if open_args is not None:
        kwargs.setdefault(OPEN, UNKNOWN)
        kwargs["*"] = open_args
    result = call(interp, callee, args, kwargs, node)
    if not (args or kwargs):
        return result
    buffers.overwritten(interp, frame, node)
    left = buffers.filled(interp, frame, callee, node, args, kwargs)
    return attention.by_name(interp, buffers.returned(result, left), args, kwargs, node)


def _builds_module(interp: Interpreter, frame: Frame) -> bool:
    """Whether the constructor of a module runs."""
    is_constructor = isinstance(frame.function, ast.FunctionDef) and frame.function.name == "__init__"
    return is_constructor and frame.owner is not None and interp.project.is_module_class(frame.owner)


def _asks_torch(interp: Interpreter, frame: Frame, node: ast.Call) -> bool:
    """Whether a call runs torch's own `get_world_size`, whatever name it is imported under."""
    name = dotted_name(node.func)
    if name is None or not name.endswith("get_world_size"):
        return False
    ref = interp.project.resolve(frame.module, name)
    return isinstance(ref, External) and ref.dotted == "torch.distributed.get_world_size"


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


def call(
    interp: Interpreter, callee: Value, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Call a value."""
    interp.spend()
    if isinstance(callee, Choice):
        callee = interp.settle(callee)
        if isinstance(callee, Choice):
            return interp.lift(lambda value: call(interp, value, args, kwargs, node), callee)
    kind = type(callee)
    if kind is Known:
        return library_calls.call_known(interp, callee.dotted, args, kwargs, node)  # type: ignore[attr-defined]
    if kind is Unknown or kind is Sym:
        return unknown_call(interp, callee, args, node, kwargs)
    if isinstance(callee, Func):
        tokens.note_loss(interp, getattr(callee.node, "name", ""), args, node)
        return running.run_function(interp, callee, args, kwargs, node)
    if isinstance(callee, Bound):
        tokens.note_loss(interp, getattr(callee.func.node, "name", ""), args, node)
        return running.run_function(interp, callee.func, (callee.self, *args), kwargs, node)
    if isinstance(callee, Partial):
        return call(interp, callee.func, (*callee.args, *args), {**callee.kwargs, **kwargs}, node)
    if isinstance(callee, Cls):
        return building.construct(interp, callee, args, kwargs, node)
    if isinstance(callee, Obj):
        return building.call_object(interp, callee, args, kwargs, node)
    if isinstance(callee, TensorMethod):
        return tensors.method(interp, callee.owner, callee.name, args, kwargs, node)
    if isinstance(callee, ObjMethod):
        return object_methods.call_method(interp, callee, args, kwargs, node)
    if isinstance(callee, Seq):
        if len(callee.items) == 2 and all(
            isinstance(i, Const) and isinstance(i.value, str) for i in callee.items
        ):
            entry = ", ".join(repr(item.value) for item in callee.items if isinstance(item, Const))
            interp.emit(EntryCalled, node, entry=f"({entry})")
        return UNKNOWN
    if isinstance(callee, NoEntry):
        note_missing(interp, callee.table, callee.key, node)
        return UNKNOWN
    return unknown_call(interp, callee, args, node, kwargs)


_ELEMENTWISE_WORDS = (
    "act",
    "gelu",
    "silu",
    "relu",
    "swish",
    "dropout",
    "sigmoid",
    "tanh",
    "norm",
    "layernorm",
)


_ACTIVATES = ("act", "gelu", "silu", "relu", "swish")
"""Activations take one tensor, wherever they come from."""


def unknown_call(
    interp: Interpreter, callee: Value, args: tuple[Value, ...], node: ast.expr, kwargs: Kwargs | None = None
) -> Value:
    """A callable nothing is known of: an activation or a norm by its name keeps the state, anything else loses it."""
    layer = layers.by_keywords(interp, args, kwargs, node) if kwargs else None
    if layer is not None:
        return layer
    name = attention.called_name(node)
    if name in ("view", "reshape") and args:
        return reshaping.by_size(interp, Tensor(State.UNKNOWN), args[-1], node)
    if (
        len(args) == 1
        and name
        and any(name.lower().startswith(word) or f"_{word}" in name.lower() for word in _ELEMENTWISE_WORDS)
    ):
        how = tr("it is passed to `%(name)s`", name=name)

        def kept(given: Value) -> Value:
            value = as_tensor(interp, given, node, how) if name.lower().startswith(_ACTIVATES) else given
            return value.but(width=None) if isinstance(value, Tensor) else UNKNOWN

        return interp.lift(kept, args[0])
    if isinstance(callee, Sym) and not args and name.startswith(("get_", "is_")):
        return Sym.named(f"{callee.text}()")
    return UNKNOWN


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
    """A named table of classes has no such key; tables of dtypes and settings are no registries."""
    if any(_names_module(entry) for entry in table.entries.values()):
        choices = tuple(str(entry) for entry in table.entries)
        interp.emit(UnknownKey, node, key_name=key, registry=table.name, choices=choices)


def _names_module(entry: Value) -> bool:
    """A class, something that builds one, a module, or the place of a class: `(module, class)`, "module.class"."""
    if isinstance(entry, Cls):
        return entry.facts is not None or entry.dotted.rpartition(".")[2][:1].isupper()
    if isinstance(entry, Seq):
        return any(_names_module(item) or _is_text(item) for item in entry.items)
    return isinstance(entry, Func | Partial | Obj) or (_is_text(entry) and "." in entry.value)


def _is_text(value: Value) -> TypeGuard[Const]:
    return isinstance(value, Const) and isinstance(value.value, str)


def note_unpacked(interp: Interpreter, pair: Pair, target: ast.expr) -> None:
    """The pair is taken apart; whether its bias is used decides E7113."""
    if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != 2:
        return
    first, second = (part.id if isinstance(part, ast.Name) else "" for part in target.elts)
    if first == "_" and second and second != "_" and "bias" not in second.lower():
        interp.emit(PairUsed, target, pair=pair, how=OUTPUT_LOST)
    elif second.startswith("_") and isinstance(pair.bias, Tensor):
        interp.emit(BiasDropped, target, pair=pair)


def note_no_pair(interp: Interpreter, value: Tensor, target: ast.Tuple | ast.List) -> None:
    """`x, _ = embedding(ids)`: what returns a tensor is taken apart along its first dimension."""
    last = target.elts[-1]
    if value.role == "embedding" and len(target.elts) == 2 and isinstance(last, ast.Name):
        if last.id.startswith("_") or "bias" in last.id:
            interp.emit(NotAPair, target, tensor=value)


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
