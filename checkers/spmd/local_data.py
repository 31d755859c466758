"""Early returns on data that the function itself reduces: whoever reduces a count says that it differs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.nodes import as_code, walk
from ..project.project import Project, dotted_name
from .collectives import Collective, Entered, collective
from .frames import Frame, functions

_REDUCES = re.compile(r"all_reduce\(|all_gather|reduce_scatter|all_to_all")
_ASKS_RANK = re.compile(r"get_(\w+_)?rank")
_TAKES = frozenset("pop popleft".split())
_COUNTED = frozenset("tensor as_tensor LongTensor IntTensor".split())


@dataclass(frozen=True, eq=False)
class LocalReturn:
    """`test` leaves on the emptiness of `data`; `call` reduces a number counted from it."""

    frame: Frame
    test: ast.If
    data: str
    call: Collective


def local_returns(project: Project) -> Iterator[LocalReturn]:
    for frame in functions(project, _REDUCES):
        node = frame.scope.function
        if node is not None:
            yield from _in_function(frame, node)


def _in_loops(frame: Frame, node: ast.FunctionDef) -> Iterator[LocalReturn]:
    """`continue` in a loop whose further statements enter a collective, where nothing in the own mask holds."""
    entered = [
        call
        for call in frame.project.knowledge(Entered).of(frame)
        if call.is_torch and call.name in _ALL_ENTER
    ]
    for loop in walk(node) if entered else ():
        for statement in loop.body if isinstance(loop, ast.For) else ():
            leaves = isinstance(statement, ast.If) and isinstance(
                statement.body[-1], ast.Continue | ast.Break
            )
            mask = _none_here(statement, frame) if leaves else None
            first, last = (statement.end_lineno or 0), (loop.end_lineno or 0)  # type: ignore[attr-defined]
            call = next((call for call in entered if first < call.node.lineno <= last), None)
            if mask is not None and isinstance(statement, ast.If) and call is not None:
                yield LocalReturn(frame, statement, mask, call)


def _in_function(frame: Frame, node: ast.FunctionDef) -> Iterator[LocalReturn]:
    yield from _in_loops(frame, node)
    for index, statement in enumerate(node.body):
        mask = _none_here(statement, frame)
        if mask is not None and isinstance(statement, ast.If):
            for call in frame.project.knowledge(Entered).of(frame):
                inside = call.node.lineno > (statement.end_lineno or 0) and call.is_torch
                if inside and call.name in _ALL_ENTER:
                    yield LocalReturn(frame, statement, mask, call)
                    return
        data = _tested(statement)
        if data is None or not isinstance(statement, ast.If):
            continue
        for later in node.body[index + 1 :]:
            for part in walk(later):
                found = collective(part, frame) if isinstance(part, ast.Call) else None
                if found is not None and found.name == "all_reduce" and found.is_torch:
                    counted = found.node.args and _counted_from(found.node.args[0], data, frame)
                    if counted and not _taken_out(node, data, found.node):
                        yield LocalReturn(frame, statement, data, found)
                    return


_ALL_ENTER = frozenset(
    "all_reduce all_gather all_gather_into_tensor reduce_scatter_tensor all_to_all all_to_all_single".split()
)
_ASKED = frozenset("any numel sum nelement item".split())


def _none_here(node: ast.stmt, frame: Frame) -> str | None:
    """The mask that a rank makes with its own number, where the function returns if nothing in it holds."""
    if not isinstance(node, ast.If) or node.orelse:
        return None
    if not isinstance(node.body[-1], ast.Return | ast.Continue | ast.Break):
        return None
    asked = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    if isinstance(asked, ast.Compare) and as_code(asked.comparators[0]) == "0":
        asked = asked.left
    elif not isinstance(node.test, ast.UnaryOp) or not isinstance(node.test.op, ast.Not):
        return None
    while isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute) and asked.func.attr in _ASKED:
        asked = asked.func.value
    made = frame.definitions(asked) if isinstance(asked, ast.Name) else []
    if len(made) != 1 or not any(isinstance(part, ast.Compare) for part in walk(made[0][0])):
        return None
    value, where = made[0]
    return as_code(asked) if any(_of_own_rank(part, where) for part in walk(value)) else None


def _of_own_rank(node: ast.AST, frame: Frame) -> bool:
    """A call for the rank of this process in whatever group, a name or an attribute made with one."""
    if isinstance(node, ast.Call):
        return _ASKS_RANK.fullmatch(frame.called(node.func)) is not None
    held = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else []
    return any(
        isinstance(part, ast.Call) and _ASKS_RANK.fullmatch(where.called(part.func))
        for value, where in held
        for part in walk(value)
    )


def _tested(node: ast.stmt) -> str | None:
    """The container whose emptiness makes the function return."""
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.body[-1], ast.Return):
        return None
    test = node.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        return _length_of(inner) or dotted_name(inner)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and ast.unparse(test.comparators[0]) == "0":
        return _length_of(test.left) if isinstance(test.ops[0], ast.Eq) else None
    return None


def _length_of(node: ast.expr) -> str | None:
    is_length = isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1
    return dotted_name(node.args[0]) if is_length and isinstance(node, ast.Call) else None


def _counted_from(node: ast.expr, data: str, frame: Frame) -> bool:
    """Whether a tensor holds a plain number that was counted over the container."""
    if not isinstance(node, ast.Name):
        return False
    made = [value for value in frame.scope.bound.get(node.id, []) if isinstance(value, ast.Call)]
    if len(made) != 1 or not isinstance(made[0].func, ast.Attribute) or made[0].func.attr not in _COUNTED:
        return False
    number = made[0].args[0] if made[0].args else None
    while isinstance(number, ast.List | ast.Tuple) and len(number.elts) == 1:
        number = number.elts[0]
    if number is None:
        return False
    if _length_of(number) == data:
        return True
    return isinstance(number, ast.Name) and _counts(number.id, data, frame)


def _counts(name: str, data: str, frame: Frame) -> bool:
    for node in frame.scope.nodes:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == name
            and _length_of(node.value) == data
        ):
            return True
        if isinstance(node, ast.For) and _reads(node.iter, data):
            for part in walk(node):
                if isinstance(part, ast.AugAssign) and dotted_name(part.target) == name:
                    return isinstance(part.value, ast.Constant)
    return False


def _taken_out(node: ast.FunctionDef, data: str, call: ast.Call) -> bool:
    """Whether the container is shortened behind the reduction, by the number that all ranks agreed on."""
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in _TAKES
        and part.lineno > call.lineno
        and dotted_name(part.func.value) == data
        for part in walk(node)
    )


def _reads(node: ast.expr, data: str) -> bool:
    return any(dotted_name(part) == data for part in walk(node))
