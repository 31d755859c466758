"""Methods of lists, dicts, strings, containers and library objects."""

from __future__ import annotations

import ast

from . import arithmetic, attributes, building, calls, indexing, layers, providers
from .callables import ObjMethod, Super
from .interpreter import Interpreter
from .values import MAX_ITEMS, NONE, UNKNOWN, Cls, Const, Heap, Kwargs, NoEntry, Obj, Pair, Seq, Table, Value


def call_method(
    interp: Interpreter, method: ObjMethod, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """A method of a list, dict, string or library object."""
    owner, name = method.owner, method.name
    if isinstance(owner, Super):
        return _super_method(interp, owner, name, args, kwargs, node)
    if isinstance(owner, Const):
        return _string_method(owner, name, args, kwargs)
    if isinstance(owner, Obj) and name in attributes.ADDS_A_CHILD and len(args) == 2:
        return _add_child(interp, owner, args[0], args[1])
    if isinstance(owner, Heap | Obj) and "content" in owner.attrs:
        content = interp.settle(owner.attrs["content"])
        if isinstance(content, Seq):
            return _list_method(interp, owner, content, name, args)
        if isinstance(content, Table):
            return _dict_method(interp, owner, content, name, args, kwargs, node)
    if isinstance(owner, Obj):
        if name in (
            "to",
            "cuda",
            "cpu",
            "half",
            "float",
            "bfloat16",
            "eval",
            "train",
            "requires_grad_",
            "apply",
        ):
            return owner
        if name == "forward":
            return building.call_object(interp, owner, args, kwargs, node)
        for value in args:
            if isinstance(value, Pair):
                return UNKNOWN
    if isinstance(owner, Seq) and name in ("index", "count"):
        return interp.fresh(name)
    return calls.unknown_call(interp, UNKNOWN, args, node, kwargs)


def _add_child(interp: Interpreter, owner: Obj, name: Value, child: Value) -> Value:
    """`module.add_module(name, child)`"""
    content = owner.attrs.get("content")
    if isinstance(content, Seq):
        return _list_method(interp, owner, content, "append", (child,))
    if isinstance(content, Table):
        indexing.store_item(interp, owner, name, child)
    elif isinstance(name, Const) and isinstance(name.value, str):
        if isinstance(child, Obj) and not child.name:
            child.name = name.value
        interp.write(owner.attrs, name.value, child)
    return NONE


def _super_method(
    interp: Interpreter, owner: Super, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    obj = owner.obj
    if not isinstance(obj, Obj) or obj.cls.facts is None:
        return UNKNOWN
    row, external = None, ""
    order = interp.project.mro(obj.cls.facts)
    after = order[order.index(owner.after) + 1 :] if owner.after in order else ()
    for entry in after:
        row = row or providers.provider_for(interp.project, entry)
        external = external or (entry.dotted if not hasattr(entry, "methods") else "")
    if name == "__init__":
        if row is not None:
            layers.build_parallel(interp, obj, row, args, kwargs, node)
        elif external:
            layers.fill_external(interp, obj, external, args, kwargs)
            obj.opaque = external.rsplit(".", 1)[-1] not in ("Module", "Sequential", "ModuleList")
            if external.endswith("MegatronModule"):
                interp.write(obj.attrs, "config", kwargs.get("config", args[0] if args else UNKNOWN))
        return NONE
    if name in ("forward", "__call__") and row is not None and obj.provider is not None:
        return interp.lift(
            lambda first: layers.call_parallel(interp, obj, row, first, kwargs, node),
            args[0] if args else UNKNOWN,
        )
    return UNKNOWN


_OF_STRINGS = frozenset(
    """lower upper title capitalize strip lstrip rstrip startswith endswith replace removeprefix removesuffix format
    split rsplit partition rpartition""".split()
)


def _string_method(owner: Const, name: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    if name == "item" and isinstance(owner.value, int | float):
        return owner
    if isinstance(owner.value, str) and all(isinstance(arg, Const) for arg in (*args, *kwargs.values())):
        if name in _OF_STRINGS and not (name == "format" and ":" in owner.value):
            given = [arg.value for arg in args if isinstance(arg, Const)]
            named = {key: arg.value for key, arg in kwargs.items() if isinstance(arg, Const)}
            try:
                result = getattr(owner.value, name)(*given, **named)
            except (TypeError, ValueError, IndexError, KeyError):
                return UNKNOWN
            if isinstance(result, list):
                return Heap("list", {"content": Seq(tuple(Const(item) for item in result))})
            if isinstance(result, tuple):
                return Seq(tuple(Const(item) for item in result))
            return arithmetic.constant(result)
    return UNKNOWN


def _list_method(
    interp: Interpreter, owner: Heap | Obj, content: Seq, name: str, args: tuple[Value, ...]
) -> Value:
    def store(items: Seq) -> Value:
        interp.write(owner.attrs, "content", items)
        return NONE

    if name in ("append", "add_module", "insert") and args:
        value = args[-1]
        if content.rest is not None:
            return store(Seq(content.items, UNKNOWN if content.rest != value else value))
        if name == "insert":
            return store(
                Seq((value, *content.items))
                if isinstance(args[0], Const) and args[0].value == 0
                else Seq((), UNKNOWN)
            )
        return store(Seq((*content.items, value)))
    if name == "extend" and args:
        more = indexing.as_seq(interp, args[0])
        if more is None or content.rest is not None or len(content.items) + len(more.items) > MAX_ITEMS:
            return store(Seq(content.items, UNKNOWN))
        return store(Seq(content.items + more.items, more.rest))
    if name == "pop":
        if content.items and content.rest is None:
            at = args[0].value if args and isinstance(args[0], Const) else -1
            if isinstance(at, int) and -len(content.items) <= at < len(content.items):
                items = list(content.items)
                value = items.pop(at)
                store(Seq(tuple(items)))
                return value
        return UNKNOWN
    if name in ("children", "modules", "__iter__", "copy", "tolist"):
        return content
    return UNKNOWN


def _dict_method(
    interp: Interpreter,
    owner: Heap | Obj,
    content: Table,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    node: ast.expr,
) -> Value:
    key = args[0] if args else None
    if name in ("get", "pop", "setdefault") and key is not None:
        default = args[1] if len(args) > 1 else NONE
        if isinstance(key, Const | Cls):
            name_of = key.value if isinstance(key, Const) else key
            if name_of in content.entries:
                value = interp.settle(content.entries[name_of])
                if name == "pop":
                    rest = {entry: item for entry, item in content.entries.items() if entry != name_of}
                    interp.write(owner.attrs, "content", Table(rest, content.rest, content.name))
                return value
            if (
                content.rest is None
                and name == "get"
                and len(args) == 1
                and content.name
                and isinstance(name_of, str)
            ):
                return NoEntry(None, name_of, content)
            return default if content.rest is None else UNKNOWN
        return UNKNOWN
    if name == "items":
        pairs = tuple(
            Seq((Const(k) if not isinstance(k, Value) else k, v)) for k, v in content.entries.items()
        )
        return Seq(pairs, Seq((UNKNOWN, content.rest)) if content.rest is not None else None)
    if name == "values":
        return Seq(tuple(content.entries.values()), content.rest)
    if name == "keys":
        return Seq(tuple(Const(k) if not isinstance(k, Value) else k for k in content.entries), content.rest)
    if name == "update":
        given = args[0] if args else None
        merged = {**content.entries, **{k: v for k, v in kwargs.items() if k != "**"}}
        open_rest = content.rest
        if isinstance(given, Heap) and isinstance(given.content, Table):
            merged.update(given.content.entries)
            open_rest = given.content.rest or open_rest
        elif given is not None:
            open_rest = UNKNOWN
        interp.write(owner.attrs, "content", Table(merged, open_rest, content.name))
        return NONE
    if name == "copy":
        return Heap("dict", {"content": Table(dict(content.entries), content.rest)})
    return UNKNOWN
