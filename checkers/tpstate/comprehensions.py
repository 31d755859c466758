"""List, set and dict comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from . import conditions, expressions, indexing
from .frames import Frame
from .interpreter import Interpreter
from .values import UNKNOWN, Const, Heap, Seq, Table, Value

_UNROLL = 32


def _inside(frame: Frame) -> Frame:
    """The scope of a comprehension: it sees what the code around it sees, and binds names of its own."""
    return Frame(
        frame.module,
        {},
        frame.owner,
        frame.function,
        {**(frame.closure or {}), **frame.vars},
        frame.parent,
        frame.call,
        entry_conditions=frame.entry_conditions,
        serial=frame.serial,
    )


def comprehension(
    interp: Interpreter, frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
) -> Value:
    inner = _inside(frame)
    found = _generate(interp, inner, node.generators, lambda: expressions.evaluate(interp, inner, node.elt))
    return Heap("list", {"content": found}) if isinstance(node, ast.ListComp) else found


def dict_comprehension(interp: Interpreter, frame: Frame, node: ast.DictComp) -> Value:
    inner = _inside(frame)
    entries: dict[object, Value] = {}
    open_keys: list[Value] = []

    def pair() -> Value:
        key, value = (
            expressions.evaluate(interp, inner, node.key),
            expressions.evaluate(interp, inner, node.value),
        )
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
    source = indexing.as_seq(interp, expressions.evaluate(interp, frame, head.iter), head.iter)
    items: list[Value] = []
    rest: Value | None = None
    produce: Callable[[], Seq] = (
        (lambda: _generate(interp, frame, tail, make)) if tail else (lambda: Seq((make(),)))
    )

    def run(value: Value) -> Seq | None:
        expressions.assign(interp, frame, head.target, value)
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
