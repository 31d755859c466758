"""E7755"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd import names
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..facts.module import ClassFacts
    from ..project.project import Project
    from ..project.scopes import Scope
    from ..tpstate.analysis import Analysis

_STARTS = re.compile(r"\binit\w*\(|initialize_model_parallel\(|setup\w*\(")
_MAKES = "initialize_model_parallel"


class GroupsUsedBeforeInit(Rule):
    """A script asks for the groups of model parallelism before it makes them."""

    code, symbol = "E7755", "groups-used-before-init"
    message = "`%(call)s` asks for `%(asked)s`, but the groups are made only at line %(line)s"
    advice = "Call what makes the groups first, and `%(call)s` after it."
    why = "Ranks and groups of tensor and pipeline parallelism exist from `initialize_model_parallel` on."
    symptom = Symptom.CRASH
    runtime = "AssertionError: tensor model parallel group is not initialized."
    limits = (
        "For statements of one function, one after the other, that starts the processes too, and calls functions of "
        "the tree or Megatron's."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state


    def seed_everything(seed):
        torch.manual_seed(seed + parallel_state.get_pipeline_model_parallel_rank())


    def main():
        torch.distributed.init_process_group("nccl")
        seed_everything(1)  # [groups-used-before-init]
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
    """
    good = """
    import torch
    from megatron.core import parallel_state


    def seed_everything(seed):
        torch.manual_seed(seed + parallel_state.get_pipeline_model_parallel_rank())


    def main():
        torch.distributed.init_process_group("nccl")
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
        seed_everything(1)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _STARTS):
            function = frame.scope.function
            calls = list(_in_order(function.body)) if function is not None else []
            makes = next((call for call in calls if _makes(call, frame, 0)), None)
            if function is None or makes is None:
                continue
            if not any(_runs(call, frame, "init_process_group", 0) for call in calls):
                continue  # groups of an earlier call may be there
            for call in calls:
                if call is makes:
                    break
                asked = _asked(call, frame, 0)
                if asked is not None:
                    yield self.finding(
                        place_of(frame.module, call),
                        object=function.name,
                        evidence=(
                            Evidence(asked[1].module.display, asked[0].lineno, tr("asked for here")),
                            Evidence(frame.module.display, makes.lineno, tr("the groups are made here")),
                        ),
                        call=ast.unparse(call.func),
                        asked=last_name(asked[0].func),
                        line=makes.lineno,
                    )
                    break


def _in_order(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """The calls that statements run one after the other, without those under a condition."""
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if isinstance(value, ast.Call):
            yield from reversed([part for part in _evaluated(value) if isinstance(part, ast.Call)])


def _evaluated(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and those parts of it that surely run, the outermost first."""
    yield node
    if isinstance(node, ast.Call):
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _evaluated(part)
    elif isinstance(node, ast.BinOp):
        yield from _evaluated(node.left)
        yield from _evaluated(node.right)


def _makes(call: ast.Call, frame: Frame, depth: int) -> bool:
    """Whether a call makes the groups: itself, or a function of the tree that it runs, whatever that asks first."""
    return _runs(call, frame, _MAKES, depth)


def _runs(call: ast.Call, frame: Frame, name: str, depth: int) -> bool:
    if last_name(call.func) == name:
        return True
    inner = frame.callee(call) if depth < 3 else None
    if inner is None:
        return False
    known = frame.project.knowledge(_Runs).known
    key = (inner.scope, inner.cls, name, depth)
    if key not in known:
        known[key] = any(_runs(part, inner, name, depth + 1) for part in inner.scope.calls)
    return known[key]


class _Runs:
    """Which functions run a call of a name, to which depth."""

    def __init__(self, _: Project) -> None:
        self.known: dict[tuple[Scope, ClassFacts | None, str, int], bool] = {}


def _asked(call: ast.Call, frame: Frame, depth: int) -> tuple[ast.Call, Frame] | None:
    """The call of Megatron's parallel state that this one surely leads to."""
    name = last_name(call.func)
    if "parallel_state" in frame.external(call.func) or ".mpu." in frame.external(call.func):
        known = (
            names.lookup(names.RANK, name),
            names.lookup(names.GROUP, name),
            names.lookup(names.SIZE, name),
        )
        return (call, frame) if any(axes is not None for axes in known) and _is_tp(name) else None
    inner = frame.callee(call) if depth < 3 else None
    function = inner.scope.function if inner is not None else None
    if inner is None or function is None or _guards(function):
        return None
    for statement in function.body:
        if (
            isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.Return)
            and statement.value is not None
        ):
            for part in ast.walk(statement.value):
                if isinstance(part, ast.IfExp | ast.BoolOp | ast.Lambda):
                    return None
                found = _asked(part, inner, depth + 1) if isinstance(part, ast.Call) else None
                if found is not None:
                    return found
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            return None
    return None


def _is_tp(name: str) -> bool:
    return any(
        word in name for word in ("tensor_model_parallel", "pipeline_model_parallel", "get_data_parallel")
    )


def _guards(function: ast.FunctionDef) -> bool:
    text = ast.unparse(function)
    return "is_initialized" in text or _MAKES in text
