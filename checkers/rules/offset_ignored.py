"""W7735"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.loop_offsets import Miscount, miscounts
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import varies
from ..spmd.frames import Frame, functions, returns
from ..spmd.names import PP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_OFFSET = re.compile(
    r"(layer_|stage_|rank_|vocab_|global_|seq_|sequence_|pp_|tp_)?offset|(partition_|split_|gather_)?dim"
    r"|first(_layer)?|(layer_start|start_layer)"
)
_STAGES = re.compile(r"megatron|parallel|pipeline|distributed")


class OffsetIgnored(Rule):
    """A function is given where a stage or rank begins, and does not use it."""

    code, symbol = "W7735", "offset-ignored"
    message = "`%(function)s` is given `%(offset)s` and never reads it: local numbers stand where global ones are meant"
    advice = "Add `%(offset)s` to the local number, or leave it out."
    why = (
        "Stages and ranks count their own layers, words and tokens from zero. Whoever joins what they hold, by name or "
        "by index, needs the number in the whole model; with local ones the parts overwrite each other."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails on one stage; on several the last one to write wins"
    limits = (
        "Only where the callers in the tree pass it, in files that speak of parallel ranks, or a function of the tree "
        "returns it with the number of layers of a stage; silent for overrides, stubs and functions that only raise."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core import parallel_state


    def whole_name(name, offset):  # [offset-ignored]
        return f"decoder.{name}"


    def names(model, per_stage):
        offset = parallel_state.get_pipeline_model_parallel_rank() * per_stage
        return [whole_name(name, offset) for name, _ in model.named_parameters()]
    """
    good = """
    import re

    from megatron.core import parallel_state


    def whole_name(name, offset):
        return re.sub(r"layers\\\\.([0-9]+)", lambda found: f"layers.{int(found[1]) + offset}", name)


    def names(model, per_stage):
        offset = parallel_state.get_pipeline_model_parallel_rank() * per_stage
        return [whole_name(name, offset) for name, _ in model.named_parameters()]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _OFFSET, _STAGES):
            function = frame.scope.function
            if (
                not isinstance(function, ast.FunctionDef)
                or frame.cls is not None
                or frame.scope.outer is None
            ):
                continue
            for arg in _unread(function):
                if _is_given(frame, function, arg):
                    yield self.finding(
                        place_of(frame.module, function),
                        object=function.name,
                        function=function.name,
                        offset=arg.arg,
                    )
        for frame in functions(analysis.project, _UNPACKS, _STAGES):
            for node, name in _dropped(frame):
                function = frame.scope.function
                where = function.name if function is not None else ""
                if _is_range(node):
                    yield self.finding(
                        place_of(frame.module, node),
                        object=where,
                        message="`%(built)s` builds all layers of the model on each stage, and `%(count)s` is not read",
                        advice="Build `range(%(count)s)` of them.",
                        built=ast.unparse(node),
                        count=name,
                    )
                    continue
                if isinstance(node, ast.Call) and name not in ast.unparse(node) and _numbers(node):
                    yield self.finding(
                        place_of(frame.module, node),
                        object=where,
                        message="`%(built)s` numbers the layers from 1 on each stage: `%(offset)s` is not added",
                        built=ast.unparse(node),
                        offset=name,
                    )
                    continue
                yield self.finding(place_of(frame.module, node), object=where, function=where, offset=name)
        for module in analysis.project.modules:
            if "range(" in module.text and module.says(_STAGES) and not analysis.project.is_framework(module):
                yield from self._loops(analysis.project, module)

    def _loops(self, project: Project, module: ModuleFacts) -> Iterator[Finding]:
        """Loops over the blocks of a stage, and lists that are indexed without, or against, their first number."""
        for function in walk(module.tree):
            if type(function) is not ast.FunctionDef or function.name != "__init__":
                continue
            for found in miscounts(function):
                if not _is_passed(project, module, found.offset):
                    continue
                if found.how == "ends":
                    yield self._short(module, function, found)
                    continue
                problem = (
                    tr(
                        "`%(index)s` counts from 0 here, and `%(offset)s` is subtracted",
                        index=found.index,
                        offset=found.offset,
                    )
                    if found.how == "subtracted"
                    else tr(
                        "`%(index)s` begins at `%(offset)s` here, and `%(offset)s` is added again",
                        index=found.index,
                        offset=found.offset,
                    )
                    if found.how == "added"
                    else tr(
                        "`%(index)s` begins at `%(offset)s`, and `%(counted)s` begins at 0",
                        index=found.index,
                        offset=found.offset,
                        counted=found.counted,
                    )
                )
                yield self.finding(
                    place_of(module, found.node),
                    object=function.name,
                    message="%(problem)s: the index is another where a stage begins later",
                    advice="Index `%(counted)s` by the number in this stage, name blocks by the number in the model.",
                    problem=problem,
                    counted=found.counted,
                )

    def _short(self, module: ModuleFacts, function: ast.FunctionDef, found: Miscount) -> Finding:
        return self.finding(
            place_of(module, found.node),
            object=function.name,
            message="`%(range)s` ends at `%(count)s`, which is how many there are: the last `%(offset)s` are left out",
            advice="Write `range(%(offset)s, %(offset)s + %(count)s)`.",
            range=ast.unparse(found.node),
            count=found.counted,
            offset=found.offset,
        )


def _unread(function: ast.FunctionDef) -> Iterator[ast.arg]:
    """Offsets that the body never names; a body that only raises, or says nothing, is a stub."""
    body = [part for part in function.body if not _is_text(part)]
    if not body or isinstance(body[0], ast.Raise | ast.Pass) or function.decorator_list:
        return
    named = {node.id for part in body for node in walk(part) if isinstance(node, ast.Name)}
    for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if _OFFSET.fullmatch(arg.arg) and arg.arg not in named and "locals" not in named:
            yield arg


def _is_passed(project: Project, module: ModuleFacts, name: str) -> bool:
    """Whether another file of the tree gives the parameter something but 0."""
    given = re.compile(rf"\b{name}=(?!0\b)[\w(]")
    return any(
        other is not module and f"{name}=" in other.text and given.search(other.text)
        for other in project.modules
    )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_given(frame: Frame, function: ast.FunctionDef, arg: ast.arg) -> bool:
    """Whether a call in the same file gives it a value that is computed."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    for node in walk(frame.module.tree):
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Name)
            or node.func.id != function.name
        ):
            continue
        given: ast.expr | None = next((k.value for k in node.keywords if k.arg == arg.arg), None)
        if given is None and arg.arg in names and names.index(arg.arg) < len(node.args):
            given = node.args[names.index(arg.arg)]
        text = ast.unparse(given) if given is not None else ""
        if given is not None and not isinstance(given, ast.Constant):
            if "offset" not in arg.arg and "dim" not in arg.arg:
                return arg.arg in text and "layer" in frame.module.text_of(function)
            return "dim" not in arg.arg or "partition_dim" in text
    return False


_UNPACKS = re.compile(r"offset|start|first|begin")


def _dropped(frame: Frame) -> Iterator[tuple[ast.expr, str]]:
    """`offset, count = layers_of_stage(n)`, where the first hangs on the stage, the second is used, and it is not."""
    function = frame.scope.function
    for node in frame.scope.of(ast.Assign) if function is not None else ():
        target = node.targets[0] if len(node.targets) == 1 else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        first, second = target.elts
        if (
            not isinstance(first, ast.Name)
            or not isinstance(second, ast.Name)
            or not _UNPACKS.search(first.id)
        ):
            continue
        inner = frame.callee(node.value) if isinstance(node.value, ast.Call) else None
        values = returns(inner) if inner is not None else []
        if (
            inner is None
            or len(values) != 1
            or not isinstance(values[0], ast.Tuple)
            or len(values[0].elts) != 2
        ):
            continue
        assert function is not None
        read = {
            part.id
            for part in walk(function)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        if varies(values[0].elts[0], inner) != PP:
            continue
        restarts = _restarts(function, second.id)
        if first.id not in read and second.id in read:
            yield node.value, first.id
        elif restarts is not None:
            yield restarts, first.id
        elif first.id in read and second.id not in read and isinstance(node.value, ast.Call):
            built = _built_from(function, first.id, node.value)
            if built is not None:
                yield built, second.id


def _restarts(function: ast.FunctionDef, count: str) -> ast.expr | None:
    """`Layer(number=i + 1) for i in range(count)`: numbers that begin anew on each stage."""
    for node in walk(function):
        if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
            continue
        turn = node.generators[0]
        if (
            not _is_range(turn.iter)
            or ast.unparse(turn.iter.args[0]) != count
            or not isinstance(node.elt, ast.Call)
        ):
            continue
        given = [*node.elt.args, *(keyword.value for keyword in node.elt.keywords)]
        if any(ast.unparse(arg) == f"{ast.unparse(turn.target)} + 1" for arg in given):
            return node.elt
    return None


def _numbers(call: ast.Call) -> bool:
    return any(ast.unparse(arg).endswith(" + 1") for arg in (*call.args, *(k.value for k in call.keywords)))


def _is_range(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "range" and len(node.args) == 1


def _built_from(function: ast.FunctionDef, offset: str, asked: ast.Call) -> ast.expr | None:
    """`range(total)` where `offset, count = layers_of_stage(total)`: as many layers as the model has, on each stage."""
    totals = {ast.unparse(arg) for arg in asked.args}
    for node in walk(function):
        if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
            source = node.generators[0].iter
            if _is_range(source) and ast.unparse(source.args[0]) in totals:
                if any(isinstance(part, ast.Name) and part.id == offset for part in walk(node.elt)):
                    return source
    return None
