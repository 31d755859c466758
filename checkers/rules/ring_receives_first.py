"""E7761"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.collectives import torch_name
from ..spmd.conditions import atoms_of, condition
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RECEIVES = re.compile(r"\brecv\(")
_RING = re.compile(r"%")


class RingReceivesFirst(Rule):
    """Every rank of a ring waits for its neighbour before it sends."""

    code, symbol = "E7761", "ring-receives-first"
    message = "`%(text)s` waits for the neighbour of the ring, and every rank sends behind it (line %(line)s)"
    advice = (
        "Start the send without waiting, `sent = torch.distributed.isend(...)`, before `recv`, and `sent.wait()` "
        "behind it; or let ranks of odd number receive first, the others send."
    )
    why = "`recv` returns when the message has come. Where all ranks wait, none gets as far as its `send`."
    symptom = Symptom.HANG
    runtime = "all ranks stand in `recv` until the watchdog ends the job"
    limits = (
        "For a blocking `recv` from `(rank - 1) % size` before a blocking `send` to `(rank + 1) % size`, or the other "
        "way round, in one function, with no test on the rank around either."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    import torch.distributed as dist


    def rotate(block):
        rank, size = dist.get_rank(), dist.get_world_size()
        other = torch.empty_like(block)
        dist.recv(other, src=(rank - 1) % size)  # [ring-receives-first]
        dist.send(block, dst=(rank + 1) % size)
        return other
    """
    good = """
    import torch
    import torch.distributed as dist


    def rotate(block):
        rank, size = dist.get_rank(), dist.get_world_size()
        other = torch.empty_like(block)
        sent = dist.isend(block, dst=(rank + 1) % size)
        dist.recv(other, src=(rank - 1) % size)
        sent.wait()
        return other
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _RECEIVES, _RING):
            waits = _plain(frame, "recv")
            sends = _plain(frame, "send")
            if len(waits) != 1 or len(sends) != 1 or not waits[0].lineno < sends[0].lineno:
                continue
            if any(torch_name(call, frame) in ("isend", "irecv") for call in frame.scope.calls):
                continue
            source = frame.argument(waits[0], "src", 1)
            target = frame.argument(sends[0], "dst", 1)
            if (
                source is not None
                and target is not None
                and _is_ring(source, frame)
                and _is_ring(target, frame)
            ):
                yield self.finding(
                    place_of(frame.module, waits[0]),
                    object=frame.function_name,
                    text=as_code(waits[0]),
                    line=sends[0].lineno,
                )


def _plain(frame: Frame, name: str) -> list[ast.Call]:
    """The calls of a function of torch.distributed, where each of them stands under no test."""
    calls = [call for call in frame.scope.calls if torch_name(call, frame) == name]
    tested = {
        id(part)
        for node in frame.scope.nodes
        if isinstance(node, ast.Try)
        or (isinstance(node, ast.If | ast.IfExp) and _asks_rank(node.test, frame))
        for part in walk(node)
    }
    return [] if any(id(call) in tested for call in calls) else calls


def _asks_rank(test: ast.expr, frame: Frame) -> bool:
    return bool(atoms_of(condition(test, frame))) or "rank" in as_code(test) or "stage" in as_code(test)


def _is_ring(node: ast.expr, frame: Frame) -> bool:
    """`(rank + 1) % size`, by name, or given to `get_global_rank`."""
    made = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else [(node, frame)]
    if len(made) != 1:
        return False
    value, where = made[0]
    if isinstance(value, ast.Call) and value.args:
        return as_code(value.func).endswith("get_global_rank") and _is_ring(value.args[-1], where)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mod):
        return False
    return "rank" in as_code(value.left) or any(_is_own_rank(part, where) for part in walk(value.left))


def _is_own_rank(node: ast.AST, frame: Frame) -> bool:
    """A name or attribute that holds nothing but the rank of this process, whatever the group."""
    held = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else []
    return bool(held) and all(
        isinstance(value, ast.Call) and where.called(value.func) in ("get_rank", "get_group_rank")
        for value, where in held
    )
