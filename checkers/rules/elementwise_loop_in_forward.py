"""R7613"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.forwards import forward_frames
from ..spmd.frames import Frame
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MADE = frozenset(
    f"torch.{name}" for name in "zeros ones empty full zeros_like ones_like empty_like full_like".split()
)


class ElementwiseLoopInForward(Rule):
    """A forward fills a tensor element by element in Python loops."""

    code, symbol = "R7613", "elementwise-loop-in-forward"
    message = "`%(name)s` is filled element by element in two Python loops, in each call of `%(cls)s.forward`"
    advice = (
        "Compute it for the whole tensor (a pooling, a fold, an index), or once: in `__init__`, as a buffer."
    )
    why = (
        "Each element is a call of Python and a few small kernels. For a grid of a weather model these are a hundred "
        "thousand, in every forward of every micro-batch, while the device waits."
    )
    symptom = Symptom.COST
    runtime = "Seconds of host time for each forward."
    limits = (
        "Two loops inside each other over `range`, whose indices both name the element, in a function that a forward "
        "of a stage or a distributed module calls, for a tensor that the function makes."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from torch import nn


    def coarse(mask, rows, columns):
        found = torch.zeros(rows, columns)
        for i in range(rows):  # [elementwise-loop-in-forward]
            for j in range(columns):
                found[i, j] = mask[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()
        return found


    class IceDistributedFuser(nn.Module):
        def forward(self, x, mask):
            return x * coarse(mask, x.shape[-2], x.shape[-1])
    """
    good = """
    import torch.nn.functional as F
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, x, mask):
            return x * F.max_pool2d(mask[None, None], 2)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        owners: dict[int, str] = {}
        for frame in forward_frames(analysis.project):
            name = frame.cls.name if frame.cls is not None else ""
            for outer, filled in _loops(frame):
                owner = owners.setdefault(id(frame.scope.function), name) or _caller(analysis, frame)
                yield self.finding(
                    place_of(frame.module, outer),
                    object=frame.function_name,
                    name=filled,
                    cls=owner,
                )


def _caller(analysis: Analysis, frame: Frame) -> str:
    """A class whose forward calls a function of the module."""
    name = frame.function_name
    for other in forward_frames(analysis.project):
        if other.cls is not None and any(
            isinstance(node, ast.Name) and node.id == name for node in other.scope.nodes
        ):
            return other.cls.name
    return ""


def _loops(frame: Frame) -> Iterator[tuple[ast.For, str]]:
    for outer in frame.scope.nodes:
        if not _over_range(outer):
            continue
        for inner in walk(outer):
            if inner is outer or not _over_range(inner):
                continue
            indices = {ast.unparse(outer.target), ast.unparse(inner.target)}  # type: ignore[attr-defined]
            for node in walk(inner):
                filled = _filled(node, indices)
                if filled and _is_made_here(filled, frame):
                    yield outer, filled  # type: ignore[misc]
                    break


def _over_range(node: ast.AST) -> bool:
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return False
    return isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"


def _filled(node: ast.AST, indices: set[str]) -> str:
    """The name of what `name[i, j] = …` fills, or an empty text."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    ):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if indices <= {ast.unparse(part) for part in parts}:
            return node.value.id
    return ""


def _is_made_here(name: str, frame: Frame) -> bool:
    found = frame.scope.bound.get(name, [])
    return any(isinstance(value, ast.Call) and frame.external(value.func) in _MADE for value in found)
