"""Reading attributes and items, unpacking and storing."""

from __future__ import annotations

import ast
from typing import Any

from ..facts.module import ClassFacts
from . import calls, expressions, tensors
from .events import BiasDropped, NoneUsed, PairUsed, TensorKeyed
from .interpreter import Frame, Interpreter
from .symbols import Poly
from .values import (
    HEADS,
    NONE,
    TP,
    UNKNOWN,
    Bound,
    Cls,
    Const,
    Func,
    Heap,
    Known,
    Mod,
    NothingReturned,
    Obj,
    ObjMethod,
    Pair,
    Partial,
    Seq,
    Slice,
    State,
    Super,
    Sym,
    Table,
    Tensor,
    TensorMethod,
    Unknown,
    Value,
)

TP_SIZE_NAMES = frozenset(
    {
        "tensor_model_parallel_size",
        "tensor_parallel_size",
        "tp_size",
        "tp_world_size",
        "attn_tp_size",
        "model_parallel_size",
        "tp",
        "tp_degree",
    }
)


ADDS_A_CHILD = frozenset({"add_module", "register_module"})


def tags_for(name: str) -> tuple[str, ...]:
    """What a name says of a number: the TP size, or a head count."""
    if name in TP_SIZE_NAMES:
        return (TP,)
    return (HEADS,) if "head" in name and "dim" not in name and "size" not in name else ()


def read(interp: Interpreter, frame: Frame, owner: Value, attr: str, node: ast.expr) -> Value:
    """`owner.attr`"""
    if isinstance(owner, Obj):
        return _of_object(interp, frame, owner, attr, node)
    if isinstance(owner, Tensor):
        if attr == "get" and owner.tag == "argument":
            return UNKNOWN  # an argument that is a dict after all
        if attr == "x":
            if owner.tag == "argument":
                return Tensor(State.UNKNOWN, role="x")
            interp.emit(TensorKeyed, node, text=".x")
        return tensors.attribute(interp, owner, attr, node)
    if isinstance(owner, Mod):
        return _of_module(interp, frame, owner, attr)
    if isinstance(owner, Known):
        return expressions.external(f"{owner.dotted}.{attr}")
    if isinstance(owner, Cls):
        return _of_class(interp, owner, attr)
    if isinstance(owner, Sym):
        return Sym(Poly.atom(f"{_short(owner)}.{attr}"), frozenset(tags_for(attr)))
    if isinstance(owner, Heap):
        return ObjMethod(owner, attr)
    if isinstance(owner, Pair):
        if attr in ("index", "count", "__len__"):
            return ObjMethod(owner, attr)
        interp.emit(PairUsed, node, pair=owner, how=f"`.{attr}` is read from it")
        return read(interp, frame, interp.settle(owner.output), attr, node)
    if isinstance(owner, Super):
        return _of_super(interp, owner, attr)
    if isinstance(owner, Const) and (isinstance(owner.value, str) or attr == "item"):
        return ObjMethod(owner, attr)
    if isinstance(owner, NothingReturned):
        interp.emit(NoneUsed, node, forward=owner.forward, how=f"`.{attr}` is read from it")
    if isinstance(owner, Partial) and attr == "func":
        return owner.func
    if isinstance(owner, Seq):
        return ObjMethod(owner, attr)
    if isinstance(owner, Unknown) and attr in TP_SIZE_NAMES:
        return Sym.named(attr, TP)
    return UNKNOWN


def _short(owner: Sym) -> str:
    return owner.text if len(owner.text) < 120 else f"{hash(owner.text)}"


def _of_object(interp: Interpreter, frame: Frame, owner: Obj, attr: str, node: ast.expr) -> Value:
    if attr in owner.attrs:
        return interp.settle(owner.attrs[attr])
    if attr in ADDS_A_CHILD:
        return ObjMethod(owner, attr)
    if is_spec(owner) and attr in owner.args:
        return interp.settle(owner.args[attr])
    if attr in ("weight", "bias") and calls.provider_of(interp, owner) is not None:
        interp.held[owner.serial] = owner
        return Tensor(State.UNKNOWN, role=f"{attr} of layer", tag=str(owner.serial))
    facts = owner.cls.facts
    if facts is not None:
        found = interp.project.method(facts, attr)
        if found is not None:
            return method_value(interp, found[0], found[1], owner, node)
        for entry in interp.project.mro(facts):
            if isinstance(entry, ClassFacts) and attr in entry.constants:
                return module_expression(interp, entry, entry.constants[attr])
        if attr == "__class__":
            return owner.cls
        delegate = _delegate(interp, owner, attr, node)
        if delegate is not None:
            return delegate
    if owner.attrs.get("content") is not None or facts is None:
        return ObjMethod(owner, attr)
    if attr in ("training", "device", "dtype") or not owner.opaque:
        return Sym(Poly.atom(f"{_label(owner)}.{attr}"), frozenset(tags_for(attr)))
    return Sym(Poly.atom(f"{_label(owner)}.{attr}"), frozenset(tags_for(attr)))


def is_spec(owner: Obj) -> bool:
    """Whether an object only names layers: a library's `ModuleSpec`, or its `MLPSubmodules`."""
    return owner.cls.facts is None and owner.cls.dotted.endswith(("Spec", "Submodules"))


def _label(owner: Obj) -> str:
    return f"{owner.cls.dotted.rsplit('.', 1)[-1]}#{owner.serial}"


def _delegate(interp: Interpreter, owner: Obj, attr: str, node: ast.expr) -> Value | None:
    """An attribute served by a wrapper's `__getattr__` from the one module it holds."""
    facts = owner.cls.facts
    if facts is None or attr.startswith("__") or interp.project.method(facts, "__getattr__") is None:
        return None
    inner = {id(value): value for value in owner.attrs.values() if isinstance(value, Obj)}
    if len(inner) != 1:
        return None
    held = next(iter(inner.values()))
    assert interp.frame is not None
    return read(interp, interp.frame, held, attr, node) if attr in held.attrs else None


def module_expression(interp: Interpreter, cls: ClassFacts, node: ast.expr) -> Value:
    """A class-level value, evaluated in the module of its class."""
    key = (id(cls), f".{node.lineno}:{node.col_offset}")
    if key not in interp.globals:
        interp.globals[key] = UNKNOWN
        frame = Frame(cls.module)
        outer, interp.frame = interp.frame, frame
        try:
            interp.globals[key] = expressions.evaluate(interp, frame, node)
        finally:
            interp.frame = outer
    return interp.globals[key]


def method_value(interp: Interpreter, holder: ClassFacts, method: ast.FunctionDef, owner: Value, node: ast.expr) -> Value:
    """A method read from an object: bound, static, of the class, or a property already computed."""
    names = {ast.unparse(decorator).rsplit(".", 1)[-1] for decorator in method.decorator_list}
    func = Func(method, holder.module, None, holder)
    if names & {"property", "cached_property"}:
        return calls.call(interp, Bound(func, owner), (), {}, node)
    if "staticmethod" in names:
        return func
    if "classmethod" in names:
        return Bound(func, owner.cls if isinstance(owner, Obj) else owner)
    return Bound(func, owner)


def _of_module(interp: Interpreter, frame: Frame, owner: Mod, attr: str) -> Value:
    if owner.facts is not None and owner.facts.binding(attr) is not None:
        return expressions.global_value(interp, owner.facts, attr)
    from ..project.project import NamespaceRef

    ref = interp.project.attribute(owner.facts or NamespaceRef(owner.dotted), attr, owner.facts or frame.module)
    return expressions.of_ref(interp, ref, attr) if ref is not None else UNKNOWN


def _of_class(interp: Interpreter, owner: Cls, attr: str) -> Value:
    if attr == "__name__":
        return Const(owner.dotted.rsplit(".", 1)[-1])
    if owner.facts is None:
        return expressions.external(f"{owner.dotted}.{attr}")
    found = interp.project.method(owner.facts, attr)
    if found is not None:
        names = {ast.unparse(decorator) for decorator in found[1].decorator_list}
        func = Func(found[1], found[0].module, None, found[0])
        return Bound(func, owner) if "classmethod" in names else func
    for entry in interp.project.mro(owner.facts):
        if isinstance(entry, ClassFacts) and attr in entry.constants:
            return module_expression(interp, entry, entry.constants[attr])
    return UNKNOWN


def _of_super(interp: Interpreter, owner: Super, attr: str) -> Value:
    cls = owner.obj.cls if isinstance(owner.obj, Obj) else owner.obj
    if not isinstance(cls, Cls) or cls.facts is None:
        return UNKNOWN
    order = interp.project.mro(cls.facts)
    after = order[order.index(owner.after) + 1 :] if owner.after in order else order[1:]
    for entry in after:
        if isinstance(entry, ClassFacts):
            if calls.provider_of_class(interp, entry) is not None and attr in ("__init__", "forward", "__call__"):
                return ObjMethod(owner, attr)
            if attr in entry.methods:
                return method_value(interp, entry, entry.methods[attr], owner.obj, entry.node.bases[0] if entry.node.bases else ast.Constant(None, lineno=entry.node.lineno, col_offset=0))  # fmt: skip
    return ObjMethod(owner, attr)


def as_seq(interp: Interpreter, value: Value, node: ast.expr | None = None) -> Seq | None:
    """The items that iterating over a value gives, or None when nothing is known of them."""
    value = interp.settle(value)
    if isinstance(value, Seq):
        return value
    if isinstance(value, Heap | Obj):
        content = value.attrs.get("content")
        content = interp.settle(content) if content is not None else None
        if isinstance(content, Seq):
            return content
        if isinstance(content, Table):
            if isinstance(value, Obj):
                return None
            keys = tuple(Const(key) if not isinstance(key, Value) else key for key in content.entries)
            return Seq(keys, content.rest)
        return None
    if isinstance(value, Pair):
        return Seq((value.output, value.bias))
    if isinstance(value, Const) and isinstance(value.value, str | tuple | range):
        return Seq(tuple(Const(item) for item in value.value))
    return None


def unpack(interp: Interpreter, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    """`a, b = value`, stars included."""
    value = interp.settle(value)
    if isinstance(value, NothingReturned):
        interp.emit(NoneUsed, target, forward=value.forward, how="it is unpacked")
    count = len(target.elts)
    starred = [index for index, elt in enumerate(target.elts) if isinstance(elt, ast.Starred)]
    if isinstance(value, Pair):
        if not starred and count != 2:
            interp.emit(PairUsed, target, pair=value, how=f"it is unpacked into {count} names")
            value = UNKNOWN
        else:
            calls.note_unpacked(interp, value, target)
    if isinstance(value, Sym) or isinstance(value, Unknown):
        base = value.text if isinstance(value, Sym) else None
        for index, elt in enumerate(target.elts):
            expressions.assign(interp, frame, elt, _part(interp, base, elt, index))
        return
    from .values import Choice

    if isinstance(value, Choice):
        for index, elt in enumerate(target.elts):
            part = interp.lift(lambda side, at=index: _item_of(interp, side, at, count, target), value)
            expressions.assign(interp, frame, elt, part)
        return
    if isinstance(value, Tensor):
        for index, part in enumerate(tensors.unpacked(interp, value, count)):
            expressions.assign(interp, frame, target.elts[index], part)
        return
    found = as_seq(interp, value)
    items = list(found.items) if found is not None else []
    for index, elt in enumerate(target.elts):
        if starred and index == starred[0]:
            expressions.assign(interp, frame, elt, Heap("list", {"content": Seq((), UNKNOWN)}))
        elif starred and index > starred[0]:
            behind = index - count
            usable = found is not None and found.rest is None and len(items) >= count - 1
            expressions.assign(interp, frame, elt, items[behind] if usable else UNKNOWN)
        elif index < len(items):
            expressions.assign(interp, frame, elt, items[index])
        else:
            rest = found.rest if found is not None and found.rest is not None else UNKNOWN
            expressions.assign(interp, frame, elt, rest)


def _part(interp: Interpreter, base: str | None, elt: ast.expr, index: int) -> Value:
    if base is not None:
        return Sym(Poly.atom(f"{base}[{index}]"))
    return UNKNOWN


def _item_of(interp: Interpreter, value: Value, index: int, count: int, node: ast.expr) -> Value:
    if isinstance(value, Tensor):
        return tensors.unpacked(interp, value, count)[index]
    if isinstance(value, Pair):
        calls.note_unpacked(interp, value, node)
    found = as_seq(interp, value)
    if found is not None and index < len(found.items):
        return found.items[index]
    return found.rest if found is not None and found.rest is not None else UNKNOWN


def item(interp: Interpreter, owner: Value, index: Value, node: ast.Subscript) -> Value:
    """`owner[index]`"""
    if isinstance(owner, Tensor):
        if isinstance(index, Const) and isinstance(index.value, str):
            if owner.tag == "argument":
                return Tensor(State.UNKNOWN, role="x") if index.value == "x" else UNKNOWN
            interp.emit(TensorKeyed, node, text=f"[{index.value!r}]")
        return tensors.indexed(interp, owner, index, node)
    if isinstance(owner, Pair):
        if isinstance(index, Seq) or isinstance(index, Const) and index.value not in (0, 1, -1, -2):
            interp.emit(PairUsed, node, pair=owner, how="it is indexed like a tensor")
            return UNKNOWN
        if isinstance(index, Const):
            first = index.value in (0, -2)
            if first and isinstance(node.value, ast.Call) and isinstance(owner.bias, Tensor):
                interp.emit(BiasDropped, node, pair=owner)
            return interp.settle(owner.output if first else owner.bias)
        return UNKNOWN
    content = owner.attrs.get("content", owner) if isinstance(owner, Heap | Obj) else owner
    content = interp.settle(content)
    if isinstance(content, Seq):
        return _of_sequence(interp, content, index)
    if isinstance(content, Table):
        return calls.look_up(interp, content, index, node)
    if isinstance(content, Sym) and isinstance(index, Const):
        tags = frozenset(tags_for(content.text.rsplit(".", 1)[-1])) & {HEADS}
        return Sym(Poly.atom(f"{content.text}[{index.value!r}]"), tags)
    if isinstance(content, Const) and isinstance(index, Const):
        try:
            return Const(content.value[index.value])
        except (TypeError, KeyError, IndexError):
            return UNKNOWN
    return UNKNOWN


def _of_sequence(interp: Interpreter, content: Seq, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int):
        at: int = index.value
        if content.rest is None or 0 <= at < len(content.items):
            if -len(content.items) <= at < len(content.items):
                return interp.settle(content.items[at])
            return UNKNOWN
        return content.rest if content.rest is not None and at >= len(content.items) else UNKNOWN
    if isinstance(index, Slice):
        bounds = [part.value if isinstance(part, Const) else "open" for part in (index.lower, index.upper, index.step)]
        if content.rest is None and "open" not in bounds:
            return Seq(content.items[slice(*bounds)])
        same = {item for item in content.items if not isinstance(item, Obj | Heap)}
        if content.rest is not None and not content.items:
            return content
        return Seq((), same.pop() if len(same) == 1 and content.rest is None else UNKNOWN)
    options = [*content.items, *([content.rest] if content.rest is not None else [])]
    if options and all(_alike(options[0], other) for other in options[1:]):
        return options[0]
    return UNKNOWN


def _alike(one: Value, other: Value) -> bool:
    """Whether two modules of a list were built at one place with equal arguments, so that either stands for both."""
    if not isinstance(one, Obj) or not isinstance(other, Obj) or one.made_at is None or other.made_at is None:
        return False
    return one.cls == other.cls and one.made_at.key == other.made_at.key and one.args == other.args


def store_item(interp: Interpreter, owner: Value, index: Value, value: Value) -> None:
    """`owner[index] = value`"""
    if not isinstance(owner, Heap | Obj):
        return
    content = owner.attrs.get("content")
    attrs: dict[Any, Value] = owner.attrs
    if isinstance(content, Table):
        if isinstance(index, Const) and not isinstance(index.value, list):
            entries = {**content.entries, index.value: value}
            interp.write(attrs, "content", Table(entries, content.rest, content.name))
        else:
            interp.write(attrs, "content", Table(content.entries, UNKNOWN, content.name))
    elif isinstance(content, Seq):
        if isinstance(index, Const) and isinstance(index.value, int) and -len(content.items) <= index.value < len(content.items):
            items = list(content.items)
            items[index.value] = value
            interp.write(attrs, "content", Seq(tuple(items), content.rest, content.kind))
        else:
            interp.write(attrs, "content", Seq((), UNKNOWN, content.kind))
