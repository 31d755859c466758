"""`isinstance` on abstract values."""

from __future__ import annotations

import ast

from . import indexing
from .interpreter import Interpreter
from .values import UNKNOWN, Cls, Const, Heap, Known, Kwargs, Obj, Pair, Seq, Tensor, Value


def is_instance(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) != 2:
        return UNKNOWN
    answer = interp.lift(lambda value: _is_instance_of(interp, value, args[1]), args[0])
    return answer


def _is_instance_of(interp: Interpreter, value: Value, wanted: Value) -> Value:
    classes = indexing.as_seq(interp, wanted)
    options = list(classes.items) if classes is not None else [wanted]
    answers = [_one_instance(interp, value, option) for option in options]
    if True in answers:
        return Const(True)
    if answers and all(answer is False for answer in answers):
        return Const(False)
    return UNKNOWN


_PLAIN = {"tuple": tuple, "list": list, "dict": dict, "str": str, "int": int, "float": float, "bool": bool}


def _one_instance(interp: Interpreter, value: Value, cls: Value) -> bool | None:
    dotted = cls.dotted if isinstance(cls, Cls | Known) else ""
    last = dotted.rsplit(".", 1)[-1]
    if isinstance(value, Pair):
        return last in ("tuple", "Sequence", "Iterable")
    if isinstance(value, Tensor):
        return None if value.tag == "argument" else last in ("Tensor", "Parameter")
    if isinstance(value, Const):
        if last in _PLAIN:
            return isinstance(value.value, _PLAIN[last])
        return False if isinstance(cls, Cls) and value.value is None else None
    if isinstance(value, Seq):
        return (
            last in ("tuple", "Sequence", "Iterable")
            if last in ("tuple", "list", "dict", "str", "int", "Sequence", "Tensor")
            else None
        )
    if isinstance(value, Heap):
        return (
            last == value.kind or last in ("Sequence", "Iterable", "Mapping")
            if last in ("tuple", "list", "dict", "str", "int", "Sequence", "Tensor", "Mapping")
            else None
        )
    if isinstance(value, Obj) and isinstance(cls, Cls):
        if value.cls == cls:
            return True
        if value.cls.facts is not None:
            order = interp.project.mro(value.cls.facts)
            if any(
                entry is cls.facts or (cls.facts is None and entry.dotted == cls.dotted) for entry in order
            ):
                return True
            names = {entry.dotted.rsplit(".", 1)[-1] for entry in order}
            return None if cls.facts is None and (last in names or value.opaque) else False
        same_name = value.cls.dotted.rsplit(".", 1)[-1] == last
        return None if same_name else False
    if isinstance(value, Obj | Heap) and last in ("tuple", "list", "str", "int", "Tensor"):
        return False
    return None
