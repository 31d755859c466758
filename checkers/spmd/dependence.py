"""Which ranks a seed or a file name depends on, by every rank that goes into it."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import walk
from .axes import group_axes, last_name, rank_function
from .frames import Frame, returns
from .names import NONE, Axes

MODEL_PARALLEL = re.compile(
    r"tensor_model_parallel|initialize_model_parallel|model_parallel_cuda_manual_seed|(Column|Row)ParallelLinear"
)
_MAX_DEPTH = 5


def depends(node: ast.expr, frame: Frame, seen: frozenset[int] = frozenset()) -> Axes:
    """The axes of all ranks that an expression is made of, through names, attributes and helpers."""
    found: Axes = NONE
    hidden: set[int] = set()
    for part in walk(node):
        if id(part) in seen or id(part) in hidden:
            continue
        if isinstance(part, ast.Call) and last_name(part.func) == "get_group_rank" and part.args:
            found |= group_axes(part.args[0], frame) or NONE
            hidden |= {id(inner) for inner in walk(part)}
        elif isinstance(part, ast.Call):
            axes = rank_function(part, frame)
            if axes is not None:
                found |= axes
            elif (inner := frame.callee(part)) is not None and inner.depth <= _MAX_DEPTH:
                for value in returns(inner):
                    found |= depends(value, inner, seen | {id(part)})
        elif isinstance(part, ast.Name | ast.Attribute) and len(seen) < _MAX_DEPTH:
            for value, where in assigned(part, frame):
                found |= depends(value, where, seen | {id(part)})
    return found


def assigned(node: ast.Name | ast.Attribute, frame: Frame) -> list[tuple[ast.expr, Frame]]:
    """What a name holds; a parameter that is assigned again holds that too."""
    if isinstance(node, ast.Name) and node.id in frame.scope.parameters:
        again = frame.scope.bound.get(node.id, [])
        given = [frame.given[node.id]] if node.id in frame.given else []
        return [*given, *((value, frame) for value in again)]
    return frame.definitions(node)
