"""E7728"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import group_axes, size_axes
from ..spmd.collectives import Collective, Entered, written
from ..spmd.divisors import divided_by, lacks
from ..spmd.frames import Frame, functions
from ..spmd.marked import is_marked, one_marked
from ..spmd.names import DP, PP, TP, WORLD, Axes, text_of
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_GROUPS = re.compile(r"reduce|gather|next\(")
_MODEL_PARALLEL = re.compile(r"model_parallel|data_parallel|parallel_state|\bmpu\b|tensor_parallel")
_LISTS = ("all_gather", "all_gather_object")


class ReducedOverWrongGroup(Rule):
    """A collective runs over a group whose axis is not that of the value, the divisor or the list beside it."""

    code, symbol = "E7728", "reduced-over-wrong-group"
    message = "`%(call)s` runs over the %(group)s group, but %(against)s"
    advice = "Use the %(right)s group, or the size of the %(group)s group."
    why = (
        "A sum over a group along which a value is the same multiplies it, and one along another axis leaves the parts "
        "apart. The size that a mean divides by, and the length of a gathered list, are those of the same group."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "A mean that is off by a factor, parts that are never added up, or a list of the wrong length: a crash."
    limits = (
        "Only where the library's functions name both axes: the size that divides a sum, the length of a list "
        "that is gathered into, a tensor-parallel region function with a group of another axis, and the gradients of "
        "parameters marked `sequence_parallel`."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Whether the group or the divisor is wrong is for a reader to say."

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def report(loss):
        value = loss.detach().clone()
        dist.all_reduce(value, group=parallel_state.get_tensor_model_parallel_group())  # [reduced-over-wrong-group]
        return value / parallel_state.get_data_parallel_world_size()
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def report(loss):
        value = loss.detach().clone()
        dist.all_reduce(value, group=parallel_state.get_data_parallel_group())
        return value / parallel_state.get_data_parallel_world_size()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _GROUPS):
            entered = analysis.project.knowledge(Entered).of(frame)
            for entry in entered:
                yield from self._against(
                    entry, frame, divided_by(entry, frame, entered), tr("is divided by the size of")
                )
                yield from self._against(
                    entry, frame, _length(entry, frame), tr("its list has the length of")
                )
                yield from self._against(entry, frame, _region(entry), "")
            for entry, test, axes in _guarded(frame, entered):
                against = tr("the test asks for the size of the %(axes)s group", axes=text_of(axes))
                yield self._found(entry, frame, test, against, axes)
            if analysis.project.knowledge(_deals_to_replicas):
                yield from self._batch(frame)
            for node in frame.scope.calls:
                yield from self._shared(node, frame)
            if "sequence_parallel" in frame.module.words:
                for node in frame.scope.calls:
                    yield from self._marked(node, frame)
                yield from self._each_marked(entered, frame)

    def _against(
        self, entry: Collective, frame: Frame, other: tuple[ast.AST, Axes] | None, how: str
    ) -> Iterator[Finding]:
        if other is None or not entry.axes:
            return
        node, axes = other
        subject = ast.unparse(entry.node.args[0])[:40] if entry.node.args else tr("the value")
        if how.startswith("is"):
            against = tr(
                "`%(subject)s` %(how)s the %(axes)s group", subject=subject, how=how, axes=text_of(axes)
            )
        elif how:
            against = tr("%(how)s the %(axes)s group", how=how, axes=text_of(axes))
        else:
            against = tr("it completes what is split over the tensor-parallel ranks")
        yield self._found(entry, frame, node, against, axes)

    def _found(self, entry: Collective, frame: Frame, node: ast.AST, against: str, axes: Axes) -> Finding:
        line: int = getattr(node, "lineno", entry.node.lineno)
        return self.finding(
            place_of(frame.module, entry.node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, line, against),),
            call=written(entry.node),
            group=text_of(entry.axes or WORLD),
            right=text_of(axes),
            fix=_with_group(entry, axes, frame),
            against=against,
        )

    def _batch(self, frame: Frame) -> Iterator[Finding]:
        """What a step reads, sent to the whole world although each replica has a batch of its own."""
        function = frame.scope.function
        if function is None or "next(" not in frame.module.text_of(function):
            return
        for call in frame.scope.calls:
            inner = frame.callee(call)
            if inner is not None and any(f.module.says(_MODEL_PARALLEL) for f in (frame, inner)):
                for entry in frame.project.knowledge(Entered).of(inner):
                    if entry.name == "broadcast" and entry.axes == WORLD and entry.is_torch:
                        against = tr(
                            "samples are dealt to the data-parallel replicas, and each has a batch of its own"
                        )
                        yield self._found(entry, inner, call, against, TP)

    def _shared(self, call: ast.Call, frame: Frame) -> Iterator[Finding]:
        """`reduce(gradients, group, 1 / size)` of a function of the tree, where the size is that of another group."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        held = (frame.definitions(arg) if isinstance(arg, ast.Name) else [(arg, frame)] for arg in given)
        values = [found[0][0] for found in held if len(found) == 1 and found[0][1] is frame]
        shares = [arg.right for arg in values if isinstance(arg, ast.BinOp) and isinstance(arg.op, ast.Div)]
        if len(shares) != 1:
            return
        asked = (arg for arg in given if isinstance(arg, ast.Call) and "_group" in ast.unparse(arg.func))
        groups: list[ast.expr] = [*asked] or _world_given(call, frame)
        if len(groups) != 1:
            return
        axes, other = group_axes(groups[0], frame), size_axes(shares[0], frame)
        if axes and other and (lacks(axes, other) or (WORLD in (axes, other) and axes != other)):
            entry = Collective(call, "", axes, groups[0], False)
            against = tr("its result is divided by the size of the %(axes)s group", axes=text_of(other))
            yield self._found(entry, frame, shares[0], against, other)

    def _marked(self, call: ast.Call, frame: Frame) -> Iterator[Finding]:
        """`reduce(gradients, group)` where the gradients are those marked `sequence_parallel`."""
        marked = next((arg for arg in call.args if isinstance(arg, ast.Name) and is_marked(arg, frame)), None)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        for arg in given if marked is not None else ():
            axes = (
                group_axes(arg, frame)
                if isinstance(arg, ast.Call) and "group" in ast.unparse(arg.func)
                else None
            )
            if axes and not axes & TP and marked is not None:
                against = tr(
                    "`%(id)s` belong to parameters marked `sequence_parallel`: parts of a sum over tp",
                    id=marked.id,
                )
                entry = Collective(call, "", axes, arg, False)
                yield self._found(entry, frame, marked, against, TP)

    def _each_marked(self, entered: list[Collective], frame: Frame) -> Iterator[Finding]:
        """`all_reduce(p.grad, group)` of one parameter after the other, each marked `sequence_parallel`."""
        if any(entry.axes is None or entry.axes & TP for entry in entered):
            return
        for entry in entered:
            given = entry.node.args[0] if entry.node.args else None
            if entry.name == "all_reduce" and given is not None and one_marked(given, frame):
                against = tr("it belongs to a parameter marked `sequence_parallel`: a part of a sum over tp")
                yield self._found(entry, frame, given, against, TP)


def _guarded(frame: Frame, entered: list[Collective]) -> Iterator[tuple[Collective, ast.If, Axes]]:
    """`if size_of_one_group > 1:` around nothing but a collective over another."""
    for test in frame.scope.of(ast.If) if entered else ():
        asked = test.test
        if test.orelse or not isinstance(asked, ast.Compare) or not isinstance(asked.ops[0], ast.Gt):
            continue
        axes = size_axes(asked.left, frame) if ast.unparse(asked.comparators[0]) == "1" else None
        if not axes or axes == WORLD or len(test.body) != 1:
            continue
        inside = {id(part) for part in ast.walk(test.body[0])}
        held = [entry for entry in entered if id(entry.node) in inside]
        if len(held) == 1 and held[0].name == "all_reduce" and held[0].axes and not held[0].axes & axes:
            yield held[0], test, axes


def _world_given(call: ast.Call, frame: Frame) -> list[ast.expr]:
    """A None that a function of the tree is given for its group, which then is that of all ranks."""
    inner = frame.callee(call)
    held = inner.given.get("group") if inner is not None else None
    is_none = held is not None and isinstance(held[0], ast.Constant) and held[0].value is None
    if inner is None or held is None or not is_none or held[1] is not frame:
        return []
    return (
        [held[0]] if any(entry.axes == WORLD for entry in frame.project.knowledge(Entered).of(inner)) else []
    )


def _deals_to_replicas(project: Project) -> bool:
    return any("get_data_parallel_rank" in m.words and "Sampler" in m.words for m in project.modules)


def _length(entry: Collective, frame: Frame) -> tuple[ast.AST, Axes] | None:
    """The size by which the list was made that the parts are gathered into."""
    if not entry.is_torch or entry.name not in _LISTS or not entry.node.args or not entry.axes:
        return None
    found = frame.definitions(entry.node.args[0])
    if len(found) != 1:
        return None
    made, where = found[0]
    size: ast.expr | None = None
    if isinstance(made, ast.ListComp) and len(made.generators) == 1:
        source = made.generators[0].iter
        is_range = (
            isinstance(source, ast.Call) and ast.unparse(source.func) == "range" and len(source.args) == 1
        )
        size = source.args[0] if is_range and isinstance(source, ast.Call) else None
    elif isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        size = made.right if isinstance(made.left, ast.List) else made.left
    axes = size_axes(size, where) if size is not None else None
    return (made, axes) if axes and axes != entry.axes else None


def _region(entry: Collective) -> tuple[ast.AST, Axes] | None:
    """A function of tensor parallelism that is given the group of the replicas."""
    is_tensor = "tensor_model_parallel" in entry.name
    return (entry.group, TP) if is_tensor and entry.group is not None and entry.axes == DP else None


def _with_group(entry: Collective, axes: Axes, frame: Frame) -> Fix | None:
    """The other group of the same library, where this one is asked for in the call."""
    word = {TP: "tensor_model", DP: "data", PP: "pipeline_model"}.get(axes)
    asked = ast.unparse(entry.group.func) if isinstance(entry.group, ast.Call) else ""
    named = re.sub(
        r"get_(tensor_model|data|pipeline_model)_parallel_group$", f"get_{word}_parallel_group", asked
    )
    if word is None or named == asked or entry.group is None:
        return None
    return unsafe(replace(frame.module, entry.group, f"{named}()"))
