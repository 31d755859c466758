"""Calls as graphs of operations: own methods are entered, wrappers that only split code needs are left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ..facts.module import ClassFacts
from ..project.project import FunctionRef
from .binding import bind, data_fields
from .entering import Trace, enter, enter_super, is_super, own_method, passed_on, run_local, run_method
from .frames import Frame, OwnLayer
from .graphs import is_count
from .names import (
    ACTIVATIONS,
    ALIASES,
    BOUND,
    EMBEDDING,
    KEYWORDS,
    LINEAR,
    ONE,
    POSITIONS,
    REGION,
    SAME,
    SIGNATURES,
    ZERO,
)  # fmt: skip
from .nodes import Node
from .simplify import binary, item

_TEXT = re.compile(r"'\w+'$")
_OPERATORS = frozenset("* + - / // @".split())


def trace_call(node: ast.Call, frame: Frame, trace: Trace) -> Node:
    """What a call computes."""
    func = node.func
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name) and func.value.id == frame.self_name:
            stored = f"self.{func.attr}" in frame.env or func.attr in frame.side.attrs
            if not stored and (found := own_method(frame, func.attr)) is not None:
                return enter(*found, node, frame, trace)
        elif is_super(func.value):
            return enter_super(func.attr, node, frame, trace)
    callee = trace(func, frame)
    args = [trace(arg, frame) for arg in node.args]
    names = [""] * len(args)
    spots: list[ast.AST] = list(node.args)
    for keyword in node.keywords:
        for name, value in _named(keyword, trace(keyword.value, frame)):
            names.append(name)
            args.append(value)
            spots.append(keyword.value)
    return apply(callee, args, names, spots, node, frame, trace)


def _named(keyword: ast.keyword, value: Node) -> Iterator[tuple[str, Node]]:
    """A keyword, or those that `**common` holds where the dict is written down."""
    if keyword.arg is None and value.op == "dict" and all(map(_TEXT.match, value.names)):
        yield from zip((name[1:-1] for name in value.names), value.args, strict=True)
    elif keyword.arg is None and value.op == "f:dict" and all(value.names):
        yield from zip(value.names, value.args, strict=True)
    else:
        yield keyword.arg or "**", value


def apply(
    callee: Node,
    args: list[Node],
    names: list[str],
    spots: Sequence[ast.AST],
    node: ast.Call,
    frame: Frame,
    trace: Trace,
) -> Node:
    """A callee on its arguments."""
    if callee.op == "local":
        return run_local(callee, args, names, node, frame, trace)
    if callee.op == "attr":
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        return _operation(
            str(callee.value), [callee.args[0], *args], ["", *names], [owner, *spots], node, frame
        )
    if callee.op != "global":
        if (function := _activation(callee, frame)) is not None:
            made = frame.side.attrs[str(callee.value)]
            labels = [*names, *(label or "dim" for label in made.names)]
            written = [*spots, *(arg.spot.node for arg in made.args)]
            return _operation(
                function, [*args, *made.args], labels, written, node, frame, OwnLayer(str(callee.value))
            )
        if (earlier := _goes_on(callee, args, frame)) is not None:
            return earlier
        return frame.node(
            "call", [callee, *args], node, names=["", *names], spots=[node.func, *spots], ref=frame.side
        )
    name = str(callee.value)
    if name == "checkpoint" and args:
        return _checkpoint(args, names, spots, node, frame, trace)
    if isinstance(callee.ref, ClassFacts) or (name[:1].isupper() and name not in SAME):
        return _built(callee, args, names, spots, node, frame)
    if isinstance(callee.ref, FunctionRef):
        whole = passed_on(callee.ref, args, names, frame, trace)
        if whole is not None:
            return whole
    return _operation(name, args, names, list(spots), node, frame, callee.ref)


def _activation(callee: Node, frame: Frame) -> str | None:
    """The function that a module without weights computes."""
    made = frame.side.attrs.get(str(callee.value)) if callee.op == "self" else None
    return ACTIVATIONS.get(str(made.value)) if made is not None and made.op == "new" else None


def _goes_on(callee: Node, args: list[Node], frame: Frame) -> Node | None:
    """The call of the stage before, where a layer of the original is split over both: together they are one call."""
    for arg in args[:1]:
        inner = arg.args[0] if arg.op in ("dict", "received") and arg.args else arg
        if callee.op == "self" and inner.op == "call" and inner.args[0].key == callee.key:
            if inner.ref is not frame.side:
                return inner
    return None


def _operation(
    name: str,
    args: list[Node],
    names: list[str],
    spots: list[ast.AST],
    node: ast.Call,
    frame: Frame,
    ref: object = None,
) -> Node:
    """A function or method: `torch.softmax(x, -1)` and `x.softmax(dim=-1)` are one."""
    name = ALIASES.get(name, name)
    if ONE.search(name):
        return frame.constant(1, node)
    if ZERO.search(name):
        return frame.constant(0, node)
    if args and (REGION.search(name) or name in SAME):
        return args[0]
    if (name == "flatten" and _are(args[1:], 0, -2)) or (name == "unflatten" and _are(args[1:2], 0)):
        return args[
            0
        ]  # parallel layers take three axes at most: all but the last one are joined in front of them
    if name == "narrow" and len(args) == 4 and args[2].op == "const" and args[2].value == 0:
        return args[0]
    if name == "getattr" and len(args) > 1 and args[1].op == "const":
        if args[0].op == "config" and len(args) > 2:
            return frame.constant(1, node) if ONE.search(str(args[1].value)) else args[2]
        return frame.node("attr", [args[0]], node, value=args[1].value)
    if name == "get" and len(args) in (2, 3) and args[1].op == "const":
        return item(args[0], args[1], node, frame)
    if name in ("values", "children") and len(args) == 1 and args[0].op == "self":
        return args[0]
    if name in _OPERATORS and len(args) == 2 and not any(names):
        return binary(name, args[0], args[1], node, frame)
    names = [KEYWORDS.get(label, label) for label in names]
    signature = SIGNATURES.get(name, ())
    names = [
        signature[index] if not label and index < len(signature) else label
        for index, label in enumerate(names)
    ]
    if name in ("reshape", "permute") and not isinstance(ref, FunctionRef):
        if len(args) == 2 and args[1].op == "seq":
            args = [args[0], *args[1].args]
            spots = [spots[0], *(arg.spot.node for arg in args[1:])]
            names = [""] * len(args)
    if isinstance(ref, FunctionRef):
        names = bind(ref.node, names, skip_self=False)
    if name == "range" and len(args) == 2 and args[0].op == "const" and args[0].value == 0:
        return _operation(name, args[1:], names[1:], spots[1:], node, frame)
    if name == "max" and len(args) == 2:  # `max(1, heads // tp_size)`
        counts = [arg for arg in args if not (arg.op == "const" and type(arg.value) is int and arg.value < 2)]
        if len(counts) == 1 and is_count(counts[0]):
            return counts[0]
    if name == "softmax" and args and (shifted := _shifted(args[0])) is not None:
        args = [shifted, *args[1:]]
    if name == "tuple" and len(args) == 1 and args[0].op in ("received", "seq"):
        return args[0]
    return _sorted(f"f:{name}", args, names, spots, node, frame, ref)


def _are(args: list[Node], *numbers: int) -> bool:
    return [arg.value if arg.op == "const" else None for arg in args] == [*numbers]


def _shifted(node: Node) -> Node | None:
    """`x` of `x - x.amax(…)`: softmax gives the same for both."""
    if node.op == "-" and node.args[1].op in ("f:amax", "f:max"):
        if node.args[1].args[0].key == node.args[0].key:
            return node.args[0]
    return None


def _sorted(
    op: str,
    args: Sequence[Node],
    names: Sequence[str],
    spots: Sequence[ast.AST],
    node: ast.AST,
    frame: Frame,
    ref: object,
    value: object = None,
) -> Node:
    """Keywords by name: their order says nothing."""
    order = sorted(range(len(args)), key=lambda index: (names[index] != "", names[index]))
    return frame.node(
        op,
        [args[index] for index in order],
        node,
        names=[names[index] for index in order],
        spots=[spots[index] for index in order],
        ref=ref,
        value=value,
    )


def _built(
    callee: Node, args: list[Node], names: list[str], spots: Sequence[ast.AST], node: ast.Call, frame: Frame
) -> Node:
    """A constructor call. Column and Row layers are the linear layers that they split."""
    name = str(callee.value)
    kind = "Linear" if LINEAR.search(name) else "Embedding" if EMBEDDING.search(name) else ""
    if kind:
        places = POSITIONS[kind]
        names = [
            places[index] if not label and index < len(places) else BOUND[kind].get(label, label)
            for index, label in enumerate(names)
        ]
        kept = [index for index, label in enumerate(names) if label in places or label == "**"]
        args, names = [args[index] for index in kept], [names[index] for index in kept]
        spots = [spots[index] for index in kept]
        value = ("parallel " if "Parallel" in name else "") + kind
        made = _sorted("new", args, names, spots, node, frame, callee.ref, kind)
        return Node(
            made.op, made.args, made.names, made.key, made.spot, made.spots, kind, "parallel" if value != kind else ""
        )  # fmt: skip
    if name in ("ModuleList", "ModuleDict") and len(args) <= 1:
        return frame.node("modules", args, node, spots=spots)
    if name == "Sequential" and not any(names):
        return frame.node("modules", [frame.node("seq", args, node, spots=spots)], node)
    if isinstance(callee.ref, ClassFacts):
        found = frame.side.project.method(callee.ref, "__init__")
        if found is not None:
            names = bind(found[1], names, skip_self=True)
        elif fields := data_fields(callee.ref):
            names = [
                fields[index] if not label and index < len(fields) else label
                for index, label in enumerate(names)
            ]
    return _sorted("new", args, names, spots, node, frame, callee.ref, name)


def _checkpoint(
    args: list[Node],
    names: list[str],
    spots: Sequence[ast.AST],
    node: ast.Call,
    frame: Frame,
    trace: Trace,
) -> Node:
    """`checkpoint(f, x)` is `f(x)`; Megatron's takes a flag before `x`."""
    kept = [
        index
        for index in range(1, len(args))
        if not names[index] and not (index == 1 and args[1].op == "const" and isinstance(args[1].value, bool))
    ]
    called = args[0]
    values, labels = [args[index] for index in kept], [names[index] for index in kept]
    if called.op == "self" and (found := own_method(frame, str(called.value))) is not None:
        if str(called.value) not in frame.side.attrs:
            return run_method(*found, bind(found[1], labels, skip_self=True), values, node, frame, trace)
    return apply(called, values, labels, [spots[index] for index in kept], node, frame, trace)
