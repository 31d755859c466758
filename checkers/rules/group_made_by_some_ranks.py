"""E7752"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import varies
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MAKES = re.compile(r"new_group\(")


class GroupMadeBySomeRanks(Rule):
    """A process group is made by its own members only, although every process must take part."""

    code, symbol = "E7752", "group-made-by-some-ranks"
    message = "`%(call)s` %(how)s: every process of the job must make every group, in the same order"
    advice = (
        "Loop over the lists of all groups on every rank, call `new_group` for each, and keep the one that holds the "
        "own rank."
    )
    why = "`torch.distributed.new_group` is a collective of all processes, also of those that are no members."
    symptom = Symptom.HANG
    runtime = (
        "The processes wait for each other in `new_group`, or a group's ranks hold different communicators."
    )
    limits = "Only where the list of ranks, or the test around the call, is seen to hang on the own rank."
    guide = "beyond the guide"

    bad = """
    import torch.distributed as dist


    def own_group(size):
        first = dist.get_rank() // size * size
        return dist.new_group(list(range(first, first + size)))  # [group-made-by-some-ranks]
    """
    good = """
    import torch.distributed as dist


    def own_group(size):
        for first in range(0, dist.get_world_size(), size):
            ranks = list(range(first, first + size))
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                own = group
        return own
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MAKES):
            for node in frame.scope.calls:
                if torch_name(node, frame) != "new_group" or frame.argument(
                    node, "use_local_synchronization", 99
                ):
                    continue
                ranks = frame.argument(node, "ranks", 0)
                how = ""
                if ranks is not None and not _is_alone(ranks) and _hangs_on_rank(ranks, frame, 0):
                    how = tr("is given ranks that differ between processes")
                elif _is_under_own_test(node, frame):
                    how = tr("runs only where the list of ranks holds the own one")
                if how:
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.function_name,
                        call=ast.unparse(node)[:80],
                        how=how,
                    )


def _is_alone(node: ast.expr) -> bool:
    """`[rank]`: a group of its own for each process, in which nobody meets another."""
    return (
        isinstance(node, ast.List | ast.Tuple)
        and len(node.elts) == 1
        and not isinstance(node.elts[0], ast.Starred)
    )


def _hangs_on_rank(node: ast.expr, frame: Frame, depth: int) -> bool:
    """Whether a list of ranks is made from the own rank: `range(first, first + n)`, `[r for r in …]`."""
    if depth > 12:
        return False
    if isinstance(node, ast.List | ast.Tuple):
        return any(_hangs_on_rank(item, frame, depth + 1) for item in node.elts)
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("list", "range", "sorted", "tuple"):
            return any(_hangs_on_rank(arg, frame, depth + 1) for arg in node.args)
        return bool(varies(node, frame))
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        return any(_hangs_on_rank(part, frame, depth + 1) for part in parts)
    if isinstance(node, ast.Name):
        owner = frame.scope.owner_of(node.id)
        found = frame.definitions(node) if owner is frame.scope else []
        return len(found) == 1 and _hangs_on_rank(*found[0], depth + 1)
    return False


def _is_under_own_test(call: ast.Call, frame: Frame) -> bool:
    """Whether the call stands in `if rank in ranks:`, with its own list of ranks, and nothing makes the others."""
    listed = frame.argument(call, "ranks", 0)
    for node in frame.scope.nodes:
        if not isinstance(node, ast.If) or not any(part is call for body in node.body for part in walk(body)):
            continue
        test = node.test
        is_member = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.In)
        if not is_member or not isinstance(test, ast.Compare) or listed is None:
            continue
        others = any(
            torch_name(part, frame) == "new_group"
            for body in node.orelse
            for part in walk(body)
            if isinstance(part, ast.Call)
        )
        if _unwrapped(test.comparators[0]) == _unwrapped(listed) and varies(test.left, frame) and not others:
            return True
    return False


def _unwrapped(node: ast.expr) -> str:
    """A list as it is written, without what only copies it."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple", "sorted") and node.args:
        node = node.args[0]
    return ast.unparse(node)
