"""E7753"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions
from ..spmd.names import TORCH_COLLECTIVES
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ASYNC = re.compile(r"async_op\s*=\s*True|\birecv\(")


class CollectiveNeverAwaited(Rule):
    """A collective is started asynchronously, and its handle is thrown away while the tensor is used."""

    code, symbol = "E7753", "collective-never-awaited"
    message = "`%(call)s` runs asynchronously, its handle is never waited for, and `%(name)s` is read at line %(line)s"
    advice = "Keep what the call returns and `wait()` for it before `%(name)s` is read, or leave out `async_op=True`."
    why = "With `async_op=True` the call returns at once; the tensor holds the result only after `wait()`."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Now and then the value of this rank alone is read; which steps it hits depends on timing."
    limits = "Where the handle goes nowhere, or into a name nothing reads, and the function reads the tensor below."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The call then waits where it stands, and no longer runs beside what follows."

    bad = """
    import torch.distributed as dist


    def total(x, group):
        work = dist.all_reduce(x, group=group, async_op=True)  # [collective-never-awaited]
        return x * 2
    """
    good = """
    import torch.distributed as dist


    def total(x, group):
        work = dist.all_reduce(x, group=group, async_op=True)
        work.wait()
        return x * 2
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _ASYNC):
            for node in frame.scope.nodes:
                call = node.value if isinstance(node, ast.Expr | ast.Assign) else None
                if (
                    not isinstance(call, ast.Call)
                    or not _is_started(call, frame)
                    or not _is_lost(node, frame)
                ):
                    continue
                target = call.args[0] if call.args else None
                is_receive = torch_name(call, frame) == "irecv"
                read = _read_below(target, call, frame) if isinstance(target, ast.Name) else None
                if read is not None and isinstance(target, ast.Name):
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.scope.function.name if frame.scope.function is not None else "",
                        call=ast.unparse(call)[:80],
                        name=target.id,
                        line=read.lineno,
                        fix=None if is_receive else unsafe(replace(frame.module, call, _waiting(call))),
                        advice=_waited_for() if is_receive else None,
                    )


def _waited_for() -> str:
    return tr("Keep what `irecv` returns and `wait()` for it before the tensor is read, or use `recv`.")


def _is_started(call: ast.Call, frame: Frame) -> bool:
    """Whether a call returns before the tensor holds what it says."""
    if torch_name(call, frame) == "irecv":
        return True
    told = frame.argument(call, "async_op", 99) if torch_name(call, frame) in TORCH_COLLECTIVES else None
    return isinstance(told, ast.Constant) and told.value is True


def _waiting(call: ast.Call) -> str:
    """The call without `async_op`."""
    kept = [keyword for keyword in call.keywords if keyword.arg != "async_op"]
    return ast.unparse(ast.Call(call.func, call.args, kept))


def _is_lost(node: ast.AST, frame: Frame) -> bool:
    """Whether nothing reads the handle again."""
    if isinstance(node, ast.Expr):
        return True
    assert isinstance(node, ast.Assign)
    name = node.targets[0].id if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) else None
    function = frame.scope.function
    if name is None or function is None:
        return False
    return not any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
        for part in ast.walk(function)
    )


def _read_below(target: ast.Name, call: ast.Call, frame: Frame) -> ast.Name | None:
    """The first time the tensor is read after the call; nothing where something else may wait for it."""
    end = call.end_lineno or call.lineno
    below = [node for node in frame.scope.nodes if getattr(node, "lineno", 0) > end]
    if any(
        isinstance(node, ast.Attribute) and node.attr in ("wait", "synchronize", "barrier") for node in below
    ):
        return None
    apart = _in_other_arms(call, frame)
    reads = (
        node
        for node in below
        if isinstance(node, ast.Name)
        and node.id == target.id
        and isinstance(node.ctx, ast.Load)
        and id(node) not in apart
    )
    return next(reads, None)


def _in_other_arms(call: ast.Call, frame: Frame) -> set[int]:
    """What does not run where the call does: the other arms of the tests around it."""
    found: set[int] = set()
    for test in (node for node in frame.scope.nodes if isinstance(node, ast.If)):
        arms = [
            {id(part) for statement in arm for part in ast.walk(statement)}
            for arm in (test.body, test.orelse)
        ]
        if any(id(call) in arm for arm in arms):
            found |= arms[1] if id(call) in arms[0] else arms[0]
    return found
