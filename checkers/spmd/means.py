"""What a loss function returns: a mean, and the number that the schedule divides it by."""

from __future__ import annotations

import ast
import re

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .frames import Frame

_LOSSES = re.compile(
    r"torch\.nn\.functional\.(mse_loss|l1_loss|smooth_l1_loss|huber_loss|cross_entropy|nll_loss|binary_cross_entropy\w*)"
)
_CLASSES = re.compile(
    r"torch\.nn\.(modules\.loss\.)?(MSELoss|L1Loss|SmoothL1Loss|HuberLoss|CrossEntropyLoss|NLLLoss|BCE\w*)"
)
_FILLED = re.compile(r"torch\.(tensor|as_tensor|full)")


def mean_of(node: ast.expr, frame: Frame) -> ast.Call | None:
    """The call that makes a value a mean: `.mean()`, or a loss of torch with its own reduction."""
    if isinstance(node, ast.Name):
        found = frame.definitions(node)
        return mean_of(*found[0]) if len(found) == 1 and found[0][1].scope is frame.scope else None
    if not isinstance(node, ast.Call) or any(word.arg in ("reduction", "dim") for word in node.keywords):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "mean" and not node.args:
        return node
    if _LOSSES.fullmatch(frame.external(node.func)):
        return node
    made = frame.definitions(node.func) if isinstance(node.func, ast.Name) else [(node.func, frame)]
    if len(made) == 1 and isinstance(made[0][0], ast.Call):
        call, where = made[0]
        if isinstance(call, ast.Call) and _CLASSES.fullmatch(where.external(call.func)):
            if not any(word.arg in ("reduction", "reduce", "size_average") for word in call.keywords):
                return node
    return None


def count_of(node: ast.expr, frame: Frame) -> ast.expr | None:
    """The number that is returned beside a loss, where it is surely another one than 1: a name, a size, a sum."""
    if isinstance(node, ast.Name):
        found = frame.definitions(node)
        return count_of(*found[0]) if len(found) == 1 and found[0][1].scope is frame.scope else None
    if isinstance(node, ast.Call) and _FILLED.fullmatch(frame.external(node.func)):
        index = 1 if frame.external(node.func).endswith("full") else 0
        given = node.args[index] if len(node.args) > index else None
        while isinstance(given, ast.List | ast.Tuple) and len(given.elts) == 1:
            given = given.elts[0]
        if isinstance(given, ast.Constant):
            return given if given.value not in (0, 1, 1.0) else None
        is_number = isinstance(given, ast.Attribute | ast.Call | ast.BinOp) or (
            isinstance(given, ast.Name) and given.id in frame.scope.parameters
        )
        return given if is_number else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
        return node
    return None


def unset_scale(cls: ClassFacts) -> tuple[str, ast.BinOp] | None:
    """A number of a class that its backward multiplies the gradient of an auxiliary loss by."""
    backward = cls.methods.get("backward")
    if backward is None or not any(ast.unparse(base).endswith("Function") for base in cls.node.bases):
        return None
    for node in walk(backward):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and "ones_like" in ast.unparse(node.left)
        ):
            attr = node.right.attr if isinstance(node.right, ast.Attribute) else ""
            if ast.unparse(node.right) == f"{cls.name}.{attr}" and isinstance(
                cls.constants.get(attr), ast.Constant
            ):
                return attr, node
    return None
