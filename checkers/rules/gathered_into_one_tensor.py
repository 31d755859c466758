"""E7768"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_GATHERS = {
    "all_gather": ("tensor_list", 0),
    "gather": ("gather_list", 1),
    "all_to_all": ("output_tensor_list", 0),
}
"""Collectives that fill a list: its keyword and place."""
_CALLED = re.compile(r"\b(all_gather|gather|all_to_all)\(")
_MAKES = re.compile(
    r"(empty|zeros|ones|full|rand|randn)(_like)?|new_(empty|zeros|ones|full)|clone|empty_strided"
)


class GatheredIntoOneTensor(Rule):
    """A collective is to fill a list that holds one tensor many times."""

    code, symbol = "E7768", "gathered-into-one-tensor"
    message = "`%(made)s` holds one tensor as often as there are ranks: each part overwrites the one before"
    advice = "Make a tensor for each rank: `%(typed)s`."
    why = "`[tensor] * n` copies the reference, not the tensor. The collective writes each rank's part into its entry."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: every entry holds the part of one rank, mostly the last"
    limits = "A list that is written as a product and reaches torch's collective in the same function."
    guide = "beyond the guide"
    fix_kind = "safe"
    fix_note = "A list of one entry stays the same."

    bad = """
    import torch
    import torch.distributed as dist


    def gathered(x, group):
        parts = [torch.empty_like(x)] * dist.get_world_size(group)  # [gathered-into-one-tensor]
        dist.all_gather(parts, x, group=group)
        return torch.cat(parts)
    """
    good = bad.replace(
        "[torch.empty_like(x)] * dist.get_world_size(group)  # [gathered-into-one-tensor]",
        "[torch.empty_like(x) for _ in range(dist.get_world_size(group))]",
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _CALLED):
            for node in frame.scope.nodes:
                if isinstance(node, ast.Call):
                    yield from self._call(frame, node)

    def _call(self, frame: Frame, node: ast.Call) -> Iterator[Finding]:
        name = torch_name(node, frame)
        if name not in _GATHERS:
            return
        given = frame.argument(node, *_GATHERS[name])
        made = frame.scope.value(given.id) if isinstance(given, ast.Name) else given
        if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Mult):
            return
        for one, count in ((made.left, made.right), (made.right, made.left)):
            entry = one.elts[0] if isinstance(one, ast.List) and len(one.elts) == 1 else None
            is_one = isinstance(count, ast.Constant) and count.value == 1
            if (
                isinstance(entry, ast.Call)
                and not is_one
                and _MAKES.fullmatch(as_code(entry.func).rpartition(".")[2])
            ):
                typed = f"[{as_code(entry)} for _ in range({as_code(count)})]"
                yield self.finding(
                    place_of(frame.module, made),
                    object=frame.function_name,
                    fix=safe(replace(frame.module, made, typed)),
                    made=as_code(made),
                    typed=typed,
                )
