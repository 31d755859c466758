"""The other end of a message: which rank a call of torch.distributed sends to or receives from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.nodes import as_code
from ..project.scopes import Opaque
from .axes import rank_function, varies
from .collectives import torch_name
from .frames import Frame, returns
from .names import WORLD, Axes

_DEPTH = 4


def messages(frame: Frame) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that send or receive one tensor, or say so to `batch_isend_irecv`, with the expression of the other end."""
    for call in frame.scope.calls:
        name = torch_name(call, frame)
        if name in ("send", "recv", "isend", "irecv"):
            peer = frame.argument(call, "dst" if "send" in name else "src", 1)
        elif name == "P2POp":
            peer = frame.argument(call, "peer", 2)
        else:
            continue
        if peer is not None:
            yield call, peer


def counted_in_group(node: ast.expr, frame: Frame, depth: int = 0) -> tuple[str, Axes] | None:
    """What a neighbour is made from, where that is a rank inside one group: `(rank + 1) % size`."""
    if depth > _DEPTH:
        return None
    if isinstance(node, Opaque):
        return _unpacked(node, frame, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add | ast.Sub):
        return _rank_in(node, frame)
    if isinstance(node, ast.Name):
        owner = frame.scope.owner_of(node.id)
        held = owner.bound.get(node.id, []) if owner is not None and node.id not in owner.parameters else []
        made = [value for value in held if not isinstance(value, ast.Name)]  # `a, b = b, a` makes nothing
        found = {counted_in_group(value, frame, depth + 1) for value in made}
        return found.pop() if len(found) == 1 else None
    return None


def _unpacked(node: Opaque, frame: Frame, depth: int) -> tuple[str, Axes] | None:
    inner = frame.callee(node.source) if isinstance(node.source, ast.Call) else None
    values = returns(inner) if inner is not None else []
    if inner is None or len(values) != 1 or not isinstance(values[0], ast.Tuple) or node.index is None:
        return None
    parts = values[0].elts
    return counted_in_group(parts[node.index], inner, depth + 1) if node.index < len(parts) else None


def _rank_in(node: ast.BinOp, frame: Frame) -> tuple[str, Axes] | None:
    """The rank that a sum or remainder is made from: a plain one of one group, one up or down."""
    value: ast.expr = node
    while isinstance(value, ast.BinOp):
        if isinstance(value.op, ast.Add | ast.Sub) and not isinstance(value.right, ast.Constant):
            return None
        if not isinstance(value.op, ast.Mod | ast.Add | ast.Sub):
            return None
        value = value.left
    axes = rank_function(value, frame) if isinstance(value, ast.Call) else None
    if isinstance(value, ast.Name | ast.Attribute):
        axes = varies(value, frame)
    return (as_code(node), axes) if axes and axes != WORLD else None
