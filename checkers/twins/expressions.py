"""Expressions as graphs of operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.module import ClassFacts, ModuleFacts
from ..project.project import External, FunctionRef, NamespaceRef, Ref, ValueRef, dotted_name
from .calls import trace_call
from .entering import Local
from .frames import Frame
from .names import ALIASES, EMBEDDING, LINEAR, ONE, OPERATORS, ZERO, is_config, plain
from .nodes import Node
from .simplify import binary, choice, item


def trace(node: ast.expr, frame: Frame) -> Node:
    """What an expression computes."""
    if isinstance(node, ast.Constant):
        return frame.constant(node.value, node)
    if isinstance(node, ast.Name):
        return name(node, frame)
    if isinstance(node, ast.Attribute):
        return attribute(node, frame)
    if isinstance(node, ast.Call):
        return trace_call(node, frame, trace)
    if isinstance(node, ast.BinOp):
        return binary(
            OPERATORS[type(node.op)], trace(node.left, frame), trace(node.right, frame), node, frame
        )
    if isinstance(node, ast.UnaryOp):
        return _unary(node, frame)
    if isinstance(node, ast.Compare):
        return _compare(node, frame)
    if isinstance(node, ast.BoolOp):
        parts = [trace(value, frame) for value in node.values]
        return frame.node(OPERATORS[type(node.op)], parts, node, spots=node.values)
    if isinstance(node, ast.IfExp):
        test = trace(node.test, frame)
        return choice(test, trace(node.body, frame), trace(node.orelse, frame), node, frame)
    return _compound(node, frame)


def _compound(node: ast.expr, frame: Frame) -> Node:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return frame.node("seq", [trace(part, frame) for part in node.elts], node, spots=node.elts)
    if isinstance(node, ast.Starred):
        return frame.node("star", [trace(node.value, frame)], node)
    if isinstance(node, ast.Dict):
        keys = [ast.unparse(key) if key is not None else "**" for key in node.keys]
        values = [trace(value, frame) for value in node.values]
        return frame.node("dict", values, node, names=keys, spots=node.values)
    if isinstance(node, ast.Subscript):
        return item(trace(node.value, frame), trace(node.slice, frame), node, frame)
    if isinstance(node, ast.Slice):
        parts = [
            trace(part, frame) if part is not None else frame.constant(None, node)
            for part in (node.lower, node.upper, node.step)
        ]
        return frame.node("slice", parts, node)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return _comprehension(node.generators, node.elt, node, frame)
    if isinstance(node, ast.DictComp):
        return _comprehension(node.generators, node.value, node, frame)
    if isinstance(node, ast.Lambda):
        return frame.node("local", (), node, value=ast.unparse(node), ref=Local(node, frame))
    if isinstance(node, ast.NamedExpr):
        value = trace(node.value, frame)
        frame.env[node.target.id] = value
        return value
    return frame.node("opaque", (), node, value=ast.unparse(node))


def name(node: ast.Name, frame: Frame) -> Node:
    """A local name, or what the module binds it to."""
    if node.id in frame.env:
        return frame.env[node.id]
    return named(frame.side.project.resolve(frame.module, node.id), node.id, node, frame)


def named(ref: Ref | None, written: str, node: ast.expr, frame: Frame) -> Node:
    """A class, function or constant of a module, or of a package."""
    last = written.rsplit(".", 1)[-1]
    if isinstance(ref, ValueRef):
        if isinstance(ref.node, ast.Constant):
            return frame.constant(ref.node.value, node)
        return frame.node("global", (), node, value=ref.name, ref=ref)
    if isinstance(ref, ClassFacts):
        is_layer = LINEAR.search(ref.name) or EMBEDDING.search(ref.name)
        return frame.node("global", (), node, value=ref.name if is_layer else plain(ref.name), ref=ref)
    if isinstance(ref, FunctionRef):
        return frame.node("global", (), node, value=ref.node.name, ref=ref)
    if isinstance(ref, External):
        last = ref.dotted.rsplit(".", 1)[-1]
    elif isinstance(ref, ModuleFacts | NamespaceRef):
        return frame.node("global", (), node, value=written, ref=ref)
    return frame.node("global", (), node, value=ALIASES.get(last, last), ref=ref)


def attribute(node: ast.Attribute, frame: Frame) -> Node:
    """`self.x`, a name of a package, or an attribute of a value."""
    if isinstance(node.value, ast.Name) and node.value.id == frame.self_name:
        return own_attribute(node.attr, node, frame)
    dotted = dotted_name(node)
    head = dotted.split(".")[0] if dotted is not None else ""
    if dotted is not None and head not in frame.env and head != frame.self_name:
        ref = frame.side.project.resolve(frame.module, dotted)
        return named(ref, dotted, node, frame)
    if ONE.search(node.attr):
        return frame.constant(1, node)
    if ZERO.search(node.attr):
        return frame.constant(0, node)
    base = trace(node.value, frame)
    if base.op == "config":
        if node.attr == "sequence_parallel":
            return frame.constant(False, node)
        return frame.node("config", (), node, value=node.attr)
    return frame.node("attr", [base], node, value=node.attr)


def own_attribute(attr: str, node: ast.expr, frame: Frame) -> Node:
    """`self.attr`: what was stored where it is a number, itself where it is a layer or tensor."""
    stored = frame.env.get(f"self.{attr}")
    if stored is not None:
        return stored
    if is_config(attr):
        return frame.node("config", (), node)
    if ONE.search(attr):
        return frame.constant(1, node)
    if ZERO.search(attr):
        return frame.constant(0, node)
    if attr == "input_tensor" and frame.side.input_tensor is not None:
        return frame.side.input_tensor
    known = frame.side.attrs.get(attr)
    if known is not None and is_plain(known):
        return known
    return frame.node("self", (), node, value=attr)


_NUMERIC = frozenset(
    "int float bool len ceil floor tuple list any all sum max min abs round sqrt pow prod".split()
)
_PLAIN = frozenset(
    "param const seq star slice if comp each getitem setitem item attr and or not in is neg".split()
)


def is_plain(node: Node) -> bool:
    """Whether a stored value is made of parameters and numbers alone, so that its name does not matter."""
    if node.op in ("new", "buffer", "append") or (node.op == "call" and node.args[0].value not in _NUMERIC):
        return False
    if node.op.startswith("f:"):
        return node.op[2:] in _NUMERIC and all(map(is_plain, node.args))
    known = node.op in _PLAIN or node.op in OPERATORS.values() or node.op in ("global", "config", "call")
    return known and all(map(is_plain, node.args))


def _unary(node: ast.UnaryOp, frame: Frame) -> Node:
    operand = trace(node.operand, frame)
    op = OPERATORS[type(node.op)]
    if operand.op == "const":
        if op == "neg" and isinstance(operand.value, int | float):
            return frame.constant(-operand.value, node)
        if op == "not":
            return frame.constant(not operand.value, node)
    return frame.node(op, [operand], node, spots=[node.operand])


def _compare(node: ast.Compare, frame: Frame) -> Node:
    parts = [trace(part, frame) for part in (node.left, *node.comparators)]
    ops = [OPERATORS[type(op)] for op in node.ops]
    if len(ops) != 1:
        return frame.node(" ".join(ops), parts, node)
    return binary(ops[0], parts[0], parts[1], node, frame)


def _comprehension(
    generators: list[ast.comprehension], element: ast.expr, node: ast.expr, frame: Frame
) -> Node:
    inner = frame.copy()
    first, *rest = generators
    iterated = trace(first.iter, frame)
    inner.loops += 1
    bind_each(first.target, node, inner)
    conditions = [trace(test, inner) for test in first.ifs]
    made = _comprehension(rest, element, node, inner) if rest else trace(element, inner)
    return frame.node("comp", [iterated, made, *conditions], node, spots=[first.iter, element, *first.ifs])


def bind_each(target: ast.expr, at: ast.AST, frame: Frame) -> None:
    """Give the names of a loop a value that is the same on both sides."""
    each = frame.node("each", (), at, value=frame.loops)
    for name_, value in _targets(target, each, frame):
        frame.env[name_] = value


def _targets(target: ast.expr, value: Node, frame: Frame) -> Iterator[tuple[str, Node]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            yield from _targets(part, item(value, frame.constant(index, target), part, frame), frame)
