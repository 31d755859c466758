"""E7621"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.axes import Axes
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_STORAGE = re.compile(r"cache|buf|shuffle|storage|pool|swizzle|pack|weight|param")
"""Memory that is read in the layout of a kernel."""


class ReshapeMixesAxes(Rule):
    """A view or reshape wants axes in another order than they have in memory."""

    code, symbol = "E7621", "reshape-mixes-axes"
    message = (
        "`%(call)s` wants `%(wanted)s` before `%(skipped)s`, which lies before it in memory: the numbers of different "
        "rows are mixed"
    )
    advice = (
        "Move the axes first, by `permute` or `transpose`; `view` and `reshape` only cut and join neighbours."
    )
    why = (
        "A reshape does not move numbers. With axes in another order each row gets numbers of several others."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: all sizes fit, and the result is scrambled"
    limits = (
        "Inside one function, by the names of sizes; silent where a size has no name, is not known to be in the "
        "tensor, where branches give a tensor different axes, or where the function insists that one of the axes is 1."
    )
    guide = "beyond the guide"
    bad = """
    # one rank of tensor_parallel layers
    import torch
    from torch.nn import functional as F


    def attend(x, q_proj, heads):
        b, n, c = x.shape
        q = q_proj(x).view(b, n, heads, -1).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, q, q)
        return out.reshape(b, n, c)  # [reshape-mixes-axes]
    """
    good = bad.replace("out.reshape(b, n, c)  # [reshape-mixes-axes]", "out.transpose(1, 2).reshape(b, n, c)")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module, read in analysis.project.knowledge(Axes).readings:
            for moved in read.moved:
                if _STORAGE.search(moved.tensor) or _STORAGE.search(read.function.name):
                    continue
                if any(_is_one(read.function, _name(atom)) for atom in (moved.wanted, moved.skipped)):
                    continue
                yield self.finding(
                    place_of(module, moved.node),
                    object=read.function.name,
                    call=_short(moved.text),
                    wanted=_name(moved.wanted),
                    skipped=_name(moved.skipped),
                )


def _is_one(function: ast.FunctionDef, name: str) -> bool:
    """`assert batch == 1`: an axis of one moves nothing."""
    return any(
        isinstance(node, ast.Assert) and ast.unparse(node.test) in (f"{name} == 1", f"1 == {name}")
        for node in ast.walk(function)
    )


def _name(atom: str) -> str:
    return re.sub(r"@\d+", "", atom).replace("?", "-1")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
