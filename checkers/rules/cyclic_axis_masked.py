"""W7602"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.scopes import lines_with, nodes_near
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_LONGITUDE = re.compile(r"(?:^|_)lon(?:gitudes?)?(?:_|s?$)", re.IGNORECASE)
_REGION = re.compile(r"cnt|count|region|idx|index|label|number|n$", re.IGNORECASE)


class CyclicAxisMasked(Rule):
    """A shifted-window mask cuts the longitude axis, which has no edge."""

    code, symbol = "W7602", "cyclic-axis-masked"
    message = "the window mask gives regions along `%(axis)s` numbers of their own, and longitude is cyclic"
    advice = "Leave the loop over `%(axis)s` out, and write `%(typed)s`: all of longitude is one region."
    why = (
        "Rolling brings the first and the last meridian together, and they are neighbours on the globe. A mask that "
        "separates them, as that of an image does, puts a wall at 0 degrees."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; forecasts show a seam along the first meridian."
    limits = "By names: the loop variable or its slices are called lon or longitude, and three slices cut the axis."
    guide = "beyond the guide"

    bad = """
    import torch


    def shifted_window_mask(resolution, window, shift, parallel_state=None):
        lat, lon = resolution
        mask = torch.zeros(1, lat, lon, 1)
        lat_slices = (slice(0, -window[0]), slice(-window[0], -shift[0]), slice(-shift[0], None))
        lon_slices = (slice(0, -window[1]), slice(-window[1], -shift[1]), slice(-shift[1], None))
        count = 0
        for rows in lat_slices:
            for columns in lon_slices:
                mask[:, rows, columns, :] = count  # [cyclic-axis-masked]
                count += 1
        return mask
    """
    good = """
    import torch


    def shifted_window_mask(resolution, window, shift, parallel_state=None):
        lat, lon = resolution
        mask = torch.zeros(1, lat, lon, 1)
        lat_slices = (slice(0, -window[0]), slice(-window[0], -shift[0]), slice(-shift[0], None))
        count = 0
        for rows in lat_slices:
            mask[:, rows, :, :] = count
            count += 1
        return mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if "slice(" not in module.text or "lon" not in module.text or "mask" not in module.text:
                continue
            for function in nodes_near(
                module.tree, lines_with(module.text, " slice(") | lines_with(module.text, "(slice(")
            ):
                if isinstance(function, ast.FunctionDef):
                    yield from self._check_function(module, function)

    def _check_function(self, module: ModuleFacts, function: ast.FunctionDef) -> Iterator[Finding]:
        cut = _cut_axes(function)
        loops = [
            node for node in walk(function) if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
        ]
        cutting = {
            loop.target.id: loop
            for loop in loops
            if isinstance(loop.iter, ast.Name) and loop.iter.id in cut and isinstance(loop.target, ast.Name)
        }
        for node in walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
                continue
            target = node.targets[0]
            is_mask = "mask" in ast.unparse(target.value).lower() and _REGION.search(ast.unparse(node.value))
            indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
            for index in indices if is_mask else ():
                loop = cutting.get(index.id) if isinstance(index, ast.Name) else None
                if loop is not None and _LONGITUDE.search(ast.unparse(loop.iter)):
                    yield self.finding(
                        place_of(module, node),
                        object=function.name,
                        axis=ast.unparse(loop.iter),
                        typed=_whole(node, target, index),
                    )


def _whole(node: ast.Assign, target: ast.Subscript, index: ast.expr) -> str:
    """The assignment with the whole of one axis."""
    indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    parts = ", ".join(":" if part is index else ast.unparse(part) for part in indices)
    return f"{ast.unparse(target.value)}[{parts}] = {ast.unparse(node.value)}"


def _cut_axes(function: ast.FunctionDef) -> set[str]:
    """Names bound to three slices that cut an axis before its end, at the window and at the shift."""
    found: set[str] = set()
    for node in walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Tuple | ast.List)
            and len(node.value.elts) == 3
        ):
            calls = [
                item
                for item in node.value.elts
                if isinstance(item, ast.Call) and ast.unparse(item.func) == "slice"
            ]
            if len(calls) == 3:
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found
