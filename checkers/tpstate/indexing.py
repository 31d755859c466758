"""Items of sequences and tables: reading, unpacking, storing."""

from __future__ import annotations

import ast
from typing import Any

from ..language import tr
from . import attributes, calls, expressions, providers, tensors
from .choices import Choice
from .events import OUTPUT_LOST, BiasDropped, NoneUsed, PairUsed, TensorKeyed
from .frames import Frame
from .interpreter import Interpreter
from .states import State
from .symbols import Poly
from .values import (
    HEADS,
    UNKNOWN,
    Const,
    Heap,
    NothingReturned,
    Obj,
    Pair,
    Seq,
    Slice,
    Sym,
    Table,
    Tensor,
    Unknown,
    Value,
)


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
        interp.emit(NoneUsed, target, forward=value.forward, how=tr("it is unpacked"))
    count = len(target.elts)
    starred = [index for index, elt in enumerate(target.elts) if isinstance(elt, ast.Starred)]
    if isinstance(value, Pair):
        if not starred and count != 2:
            if not providers.may_return(value.layer.provider, count):
                how = tr("it is unpacked into %(count)s names", count=count)
                interp.emit(PairUsed, target, pair=value, how=how)
            value = UNKNOWN
        else:
            calls.note_unpacked(interp, value, target)
    if isinstance(value, (Sym, Unknown)):
        base = value.text if isinstance(value, Sym) else None
        for index, elt in enumerate(target.elts):
            expressions.assign(interp, frame, elt, _part(interp, base, elt, index))
        return
    if isinstance(value, Choice):
        for index, elt in enumerate(target.elts):
            part = interp.lift(lambda side, at=index: _item_of(interp, side, at, count, target), value)
            expressions.assign(interp, frame, elt, part)
        return
    if isinstance(value, Tensor):
        calls.note_no_pair(interp, value, target)
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
        if isinstance(index, Seq) or (isinstance(index, Const) and index.value not in (0, 1, -1, -2)):
            interp.emit(PairUsed, node, pair=owner, how=tr("it is indexed like a tensor"))
            return UNKNOWN
        if isinstance(index, Const):
            first = index.value in (0, -2)
            if isinstance(node.value, ast.Call) and not first:
                interp.emit(PairUsed, node, pair=owner, how=OUTPUT_LOST)
            elif isinstance(node.value, ast.Call) and isinstance(owner.bias, Tensor):
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
        tags = frozenset(attributes.tags_for(content.text.rsplit(".", 1)[-1])) & {HEADS}
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
        bounds: list[Any] = [
            part.value if isinstance(part, Const) else "open"
            for part in (index.lower, index.upper, index.step)
        ]
        if content.rest is None and "open" not in bounds:
            return Seq(content.items[slice(*bounds)])
        same = {item for item in content.items if not isinstance(item, Obj | Heap)}
        if content.rest is not None and not content.items:
            return content
        return Seq((), same.pop() if len(same) == 1 and content.rest is None else UNKNOWN)
    options = [*content.items, *([content.rest] if content.rest is not None else [])]
    if options and all(alike(options[0], other) for other in options[1:]):
        return options[0]
    return UNKNOWN


def alike(one: Value, other: Value) -> bool:
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
        if (
            isinstance(index, Const)
            and isinstance(index.value, int)
            and -len(content.items) <= index.value < len(content.items)
        ):
            items = list(content.items)
            items[index.value] = value
            interp.write(attrs, "content", Seq(tuple(items), content.rest, content.kind))
        else:
            interp.write(attrs, "content", Seq((), UNKNOWN, content.kind))
