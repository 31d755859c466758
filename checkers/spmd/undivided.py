"""Functions that are named after a mean, and sum over ranks without dividing."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import walk
from .axes import last_name
from .collectives import Collective, Entered
from .frames import Frame
from .names import NONE

_MEAN = re.compile(r"(^|_)(average|averaged|avg|mean)(_|$)")
NAMED = re.compile(r"def \w*(average|avg|mean)\w*\(")
_SHARES = re.compile(r"div|mul|mean|avg|average|scale|norm|AVG|PREMUL", re.IGNORECASE)
_OTHER = re.compile(r"\b(MAX|MIN|PRODUCT|BAND|BOR)\b")


def sum_for_mean(frame: Frame) -> Collective | None:
    """The all-reduce of a function whose name speaks of a mean, where nothing in it divides or scales."""
    function = frame.scope.function
    if function is None or not _MEAN.search(function.name):
        return None
    sums = [
        entry
        for entry in frame.project.knowledge(Entered).of(frame)
        if entry.name == "all_reduce" and entry.is_torch and entry.axes != NONE
    ]
    if (
        len(sums) != 1
        or any(_shares(node) for node in walk(function))
        or _OTHER.search(ast.unparse(sums[0].node))
    ):
        return None
    inner = [found for call in frame.scope.calls if (found := frame.callee(call)) is not None]
    if any(_shares(node) for found in inner if found.scope.function for node in walk(found.scope.function)):
        return None
    return sums[0]


def _shares(node: ast.AST) -> bool:
    """Whether something divides, scales, or asks for a mean."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Div | ast.Mult | ast.FloorDiv)
    if isinstance(node, ast.Call):
        return _SHARES.search(last_name(node.func)) is not None
    return isinstance(node, ast.Attribute) and node.attr in ("AVG", "PREMUL_SUM")
