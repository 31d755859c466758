"""Deciding the tests of a stage's forward: whether it received tensors, and in which form."""

from __future__ import annotations

import ast

from .flow import Env, Flow
from .origin import UNKNOWN
from .project import dotted_name


def decided(flow: Flow, test: ast.expr, env: Env) -> bool | None:
    """Whether a test holds; None when it is open."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = flow.decide(test.operand, env)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        answers = [flow.decide(part, env) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compare(flow, test, env)
    if isinstance(test, ast.Call) and dotted_name(test.func) in ("isinstance", "torch.is_tensor"):
        return _isinstance(flow, test, env)
    text = dotted_name(test) or (dotted_name(test.func) if isinstance(test, ast.Call) else None) or ""
    if text.rsplit(".", 1)[-1] in (
        "pre_process",
        "is_pipeline_first_stage",
        "is_first_stage",
        "is_first",
    ):
        return not flow.receives
    origin = flow.value(test, env)
    if origin.kind == "received":
        return flow.receives
    return origin.value if isinstance(origin.value, bool) else False if origin.kind == "none" else None


def _compare(flow: Flow, test: ast.Compare, env: Env) -> bool | None:
    op, right = test.ops[0], test.comparators[0]
    negative = isinstance(op, ast.IsNot | ast.NotEq)
    known = _texts(right)
    if known is not None and isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        left = flow.value(test.left, env)
        if left.kind == "text" and isinstance(left.value, str):
            return (left.value in known) is not isinstance(op, ast.NotEq | ast.NotIn)
        return None
    if not isinstance(right, ast.Constant) or not isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    text = ast.unparse(test.left)
    if right.value == 0 and type(right.value) is int and "rank" in text:
        return flow.receives if negative else not flow.receives
    if right.value is not None:
        return None
    origin = flow.value(test.left, env)
    if (
        origin.kind in ("received", "none")
        or origin.is_tensor
        or origin.kind in ("tuple", "list", "dict", "number")
    ):
        absent = (
            not flow.receives
            if origin.kind == "received" or origin.passes is not None
            else origin.kind == "none"
        )
        return absent is not negative
    return None


def _isinstance(flow: Flow, test: ast.Call, env: Env) -> bool | None:
    origin = flow.value(test.args[0], env) if test.args else UNKNOWN
    if origin.kind != "received" or not flow.receives:
        return None
    names = ast.unparse(test.args[1]) if len(test.args) > 1 else "Tensor"
    return "list" in names.lower() or "Sequence" in names


def _texts(node: ast.expr) -> list[object] | None:
    """The texts that a test compares with: one, or those of a list."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    values = [part.value if isinstance(part, ast.Constant) else None for part in parts]
    return list(values) if values and all(isinstance(value, str) for value in values) else None
