"""E7753"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions
from ..spmd.names import TORCH_COLLECTIVES
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ASYNC = re.compile(r"async_op\s*=\s*True|irecv")


class CollectiveNeverAwaited(Rule):
    """A collective or receive is started asynchronously, and its handle is thrown away while the tensor is used."""

    code, symbol = "E7753", "collective-never-awaited"
    message = "`%(call)s` runs asynchronously, its handle is never waited for, and `%(name)s` is read at line %(line)s"
    advice = "Keep what the call returns and `wait()` for it before `%(name)s` is read, or leave out `async_op=True`."
    why = (
        "With `async_op=True`, and in `irecv` and `batch_isend_irecv`, the call returns at once; the tensor holds the "
        "result only after `wait()`."
    )
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
                if not isinstance(call, ast.Call) or not call.args:
                    continue
                if not _is_lost(node, frame) and isinstance(node, ast.Assign):
                    yield from self._early(node, call, frame)
                    continue
                filled = _filled(call, frame)
                reads = [read for target in filled if (read := _read_below(target, call, frame)) is not None]
                if reads:
                    is_collective = torch_name(call, frame) in TORCH_COLLECTIVES
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        advice=None
                        if is_collective
                        else "Keep what the call returns, and `wait()` for each of it first.",
                        call=ast.unparse(call)[:80],
                        name=reads[0].id,
                        line=reads[0].lineno,
                        fix=unsafe(replace(frame.module, call, _waiting(call))) if is_collective else None,
                    )

    def _early(self, node: ast.Assign, call: ast.Call, frame: Frame) -> Iterator[Finding]:
        """A tensor that is read between the start of a collective and the `wait()` of the same block."""
        handle = node.targets[0]
        block = _block_of(node, frame)
        if not isinstance(handle, ast.Name) or not block:
            return
        for target in _filled(call, frame):
            for statement in block[block.index(node) + 1 :]:
                named = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
                if any(part.id == handle.id for part in named) or not isinstance(
                    statement, ast.Assign | ast.Expr
                ):
                    break
                read = next(
                    (part for part in named if part.id == target.id and _is_value(part, statement)), None
                )
                if any(part.id == target.id and isinstance(part.ctx, ast.Store) for part in named):
                    break
                if read is not None:
                    yield self.finding(
                        place_of(frame.module, read),
                        object=frame.function_name,
                        message="`%(name)s` is read before `%(handle)s.wait()`: `%(call)s` may not have filled it yet",
                        advice="Write `%(handle)s.wait()` before this line.",
                        call=ast.unparse(call)[:80],
                        name=target.id,
                        handle=handle.id,
                    )
                    break


_OF_SHAPE = frozenset(
    "shape size dtype device numel dim ndim record_stream element_size data_ptr storage".split()
)


def _is_value(name: ast.Name, statement: ast.stmt) -> bool:
    """Whether a name is read for its numbers, not its shape or to be sent on."""
    for part in ast.walk(statement):
        if isinstance(part, ast.Attribute) and part.value is name:
            return part.attr not in _OF_SHAPE
        if isinstance(part, ast.Call) and (
            "append" in ast.unparse(part.func) or "send" in ast.unparse(part.func)
        ):
            return False
    if isinstance(statement, ast.Assign) and statement.value is name:
        return False
    return isinstance(name.ctx, ast.Load) and any(
        isinstance(part, ast.BinOp | ast.Call) and name in ast.walk(part) for part in ast.walk(statement)
    )


def _block_of(node: ast.AST, frame: Frame) -> list[ast.stmt]:
    """The statements that a statement stands among."""
    function = frame.scope.function
    blocks = (
        block
        for part in (ast.walk(function) if function is not None else ())
        for name in ("body", "orelse", "finalbody")
        if isinstance(block := getattr(part, name, None), list)
    )
    return next((block for block in blocks if node in block), [])


def _filled(call: ast.Call, frame: Frame) -> list[ast.Name]:
    """The tensors that a call fills while the function goes on."""
    name = torch_name(call, frame)
    targets: list[ast.expr] = []
    if name in TORCH_COLLECTIVES:
        told = frame.argument(call, "async_op", 99)
        targets = call.args[:1] if isinstance(told, ast.Constant) and told.value is True else []
    elif name == "irecv":
        targets = call.args[:1]
    elif name == "batch_isend_irecv":
        held = [value for value, _ in frame.definitions(call.args[0])] or [call.args[0]]
        operations = held[0].elts if len(held) == 1 and isinstance(held[0], ast.List) else []
        targets = [
            part.args[1]
            for part in operations
            if isinstance(part, ast.Call) and len(part.args) > 1 and last_name(part.args[0]) == "irecv"
        ]
    return [target for target in targets if isinstance(target, ast.Name)]


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
    for test in frame.scope.of(ast.If):
        arms = [
            {id(part) for statement in arm for part in ast.walk(statement)}
            for arm in (test.body, test.orelse)
        ]
        if any(id(call) in arm for arm in arms):
            found |= arms[1] if id(call) in arms[0] else arms[0]
    return found
