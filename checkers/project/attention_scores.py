"""Attention scores by hand: which of their axes are the keys, by how queries and keys are multiplied."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from .project import dotted_name

_QUERY = re.compile(r"(\w*\.)*_?(x?q|query|queries)(_\w+)?$")
_KEY = re.compile(r"(\w*\.)*_?(x?k|key|keys)(_\w+)?$")
_TURNED = re.compile(r"\.transpose\((-2, -1|-1, -2|2, 3|3, 2)\)$|\.mT$")
_CHAIN = 3


def over_queries(module: ModuleFacts) -> Iterator[tuple[ast.Call, str]]:
    """Calls of softmax that sum over the queries of `q @ k.transpose(-2, -1)`, and the dimension they are given."""
    for function in walk(module.tree):
        if not isinstance(function, ast.FunctionDef) or "softmax" not in module.text_of(function):
            continue
        bound = _bound(function)
        for node in walk(function):
            dim = _dim(node)
            if dim is None or not isinstance(node, ast.Call):
                continue
            of = (
                node.func.value if _is_method(node) and isinstance(node.func, ast.Attribute) else node.args[0]
            )
            if _are_scores(of, bound, 0):
                yield node, dim


def _bound(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _is_method(node: ast.Call) -> bool:
    name = dotted_name(node.func) or ""
    return isinstance(node.func, ast.Attribute) and not name.startswith(("F.", "torch.", "nn."))


def _dim(node: ast.AST) -> str | None:
    """`-2` of `x.softmax(dim=-2)` and `F.softmax(x, -2)`."""
    if not isinstance(node, ast.Call) or as_code(node.func).rsplit(".", 1)[-1] != "softmax":
        return None
    at = 0 if _is_method(node) else 1
    given = [keyword.value for keyword in node.keywords if keyword.arg == "dim"] or node.args[at : at + 1]
    return "-2" if given and as_code(given[0]) == "-2" and (at == 0 or node.args) else None


def _are_scores(node: ast.expr, bound: dict[str, list[ast.expr]], depth: int) -> bool:
    """A product of queries with keys whose last axis is that of the keys, scaled, masked and cast as it may be."""
    if isinstance(node, ast.Name):
        values = bound.get(node.id, []) if depth < _CHAIN else []
        return bool(values) and _are_scores(values[0], bound, depth + 1)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return _are_scores(node.left, bound, depth)
    if isinstance(node, ast.BinOp):
        return _meet(node.left, node.right)
    if not isinstance(node, ast.Call):
        return False
    name = as_code(node.func).rsplit(".", 1)[-1]
    if name == "einsum" and len(node.args) == 3 and isinstance(node.args[0], ast.Constant):
        return _by_equation(str(node.args[0].value), node.args[1], node.args[2])
    if name in ("matmul", "bmm") and len(node.args) == 2:
        return _meet(node.args[0], node.args[1])
    is_kept = name in ("float", "to", "masked_fill", "masked_fill_", "clamp", "type_as")
    return is_kept and isinstance(node.func, ast.Attribute) and _are_scores(node.func.value, bound, depth)


def _meet(left: ast.expr, right: ast.expr) -> bool:
    turned = _TURNED.search(as_code(right))
    if turned is None:
        return False
    while isinstance(left, ast.BinOp):
        left = left.left
    return (
        _QUERY.match(as_code(left)) is not None and _KEY.match(as_code(right)[: turned.start()]) is not None
    )


def _by_equation(text: str, left: ast.expr, right: ast.expr) -> bool:
    terms, _, result = text.replace(" ", "").partition("->")
    first, _, second = terms.partition(",")
    named = _QUERY.match(as_code(left)) is not None and _KEY.match(as_code(right)) is not None
    return (
        named and len(result) > 1 and result[-1] in second and result[-1] not in first and result[-2] in first
    )
