"""E7704"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import size_axes, source_axes, varies
from ..spmd.collectives import Collective, Entered, torch_name
from ..spmd.conditions import Atom, condition
from ..spmd.frames import Attributes, Frame, functions
from ..spmd.names import EMBEDDING, POINT_TO_POINT, PP, TORCH_ROOT, WORLD, Axes, text_of
from ..spmd.peers import counted_in_group, messages
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ROOTED = re.compile(rf"({'|'.join(TORCH_ROOT)})\(")
_SOURCE = {
    "tp": "get_tensor_model_parallel_src_rank()",
    "dp": "get_data_parallel_src_rank()",
    "pp": "get_pipeline_model_parallel_first_rank()",
}


_POINTS = re.compile(r"\b(send|recv|isend|irecv|P2POp)\(")
_RANKS = re.compile(r"rank")
_NAMED = re.compile(
    r"(^|[^a-z])(tp|pp|dp|cp|ep|sp|tensor|pipe|pipeline|context|ring|stage|data|expert)[a-z_]*_?(pg|group)"
)


class BroadcastSrcNotInGroup(Rule):
    """A collective of a subgroup names its source by a number that is not a rank of every such group."""

    code, symbol = "E7704", "broadcast-src-not-in-group"
    message = "`%(name)s` over the %(group)s group takes the global rank %(word)s=%(source)s, and %(why)s"
    advice = "%(advice)s"
    why = (
        "`src` and `dst` count over all processes, also where a group is given. Rank 0 is in one of the groups; in "
        "the others nobody sends."
    )
    symptom = Symptom.CRASH
    runtime = (
        "ValueError: Global rank 0 is not part of group, on every rank outside the first group, or a hang."
    )
    limits = (
        "Only for torch.distributed, where the group is a known one of the model's mesh and the source a constant or a "
        "rank of another axis, or a neighbour is told by the rank in the very group that the message goes to; "
        "`group_src` counts inside the group and is right."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Which rank holds the data is for a reader to say."

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def share(batch):
        group = parallel_state.get_tensor_model_parallel_group()
        dist.broadcast(batch, src=0, group=group)  # [broadcast-src-not-in-group]
        return batch
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def share(batch):
        group = parallel_state.get_tensor_model_parallel_group()
        dist.broadcast(batch, src=parallel_state.get_tensor_model_parallel_src_rank(), group=group)
        return batch
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _ROOTED):
            for found in analysis.project.knowledge(Entered).of(frame):
                if found.is_torch and found.name in TORCH_ROOT:
                    yield from self._check(found, frame)

        said: set[int] = set()
        for frame in functions(analysis.project, _POINTS):
            for call in frame.scope.calls:
                for finding in self._neighbour(call, frame):
                    said.add(id(call))
                    yield finding

        for frame in functions(analysis.project, _POINTS, _RANKS):
            for call, peer in messages(frame):
                counted = counted_in_group(peer, frame) if id(call) not in said else None
                if counted is not None:
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        message="`%(source)s` counts inside the %(group)s group, and a message names a rank of all",
                        source=counted[0],
                        group=text_of(counted[1]),
                        advice=tr(
                            "Write `torch.distributed.get_global_rank(group, %(other)s)`.", other=counted[0]
                        ),
                    )

    def _neighbour(self, call: ast.Call, frame: Frame) -> Iterator[Finding]:
        """`dist.send(x, dst=rank + 1, group=group)`, where the rank counts inside the group."""
        name = torch_name(call, frame)
        if name not in POINT_TO_POINT:
            return
        word = "dst" if "send" in name else "src"
        group, other = frame.argument(call, "group", 2), frame.argument(call, word, 1)
        if group is None or other is None:
            return
        asked = _own_rank(other, frame)
        given = frame.argument(asked, "group", 0) if asked is not None else None
        if given is None or not _is_same(given, group, frame) or not _NAMED.search(as_code(group)):
            return
        yield self.finding(
            place_of(frame.module, call),
            object=frame.function_name,
            name=name,
            group=as_code(group),
            word=word,
            source=as_code(other),
            why=tr("this one counts inside the group"),
            advice=tr(
                "Write `torch.distributed.get_global_rank(%(group)s, %(other)s)`.",
                group=as_code(group),
                other=as_code(other),
            ),
        )

    def _check(self, found: Collective, frame: Frame) -> Iterator[Finding]:
        axes = found.axes
        if not axes or axes in (WORLD, EMBEDDING):
            return
        word = "dst" if found.name in ("reduce", "gather", "gather_object") else "src"
        source = frame.argument(found.node, word, TORCH_ROOT[found.name])
        if source is None:
            return
        why = _fault(source, frame, axes)
        if why is None:
            yield from self._filled_elsewhere(found, source, frame)
            return
        known = _SOURCE.get(text_of(axes))
        advice = (
            tr("Write `%(word)s=parallel_state.%(known)s`.", word=word, known=known)
            if known
            else tr("Write `group_%(word)s=0`.", word=word)
        )
        yield self.finding(
            place_of(frame.module, found.node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, source.lineno, why),),
            name=found.name,
            group=text_of(axes),
            word=word,
            source=ast.unparse(source),
            why=why,
            advice=advice,
            fix=_named_source(found, source, frame),
        )

    def _filled_elsewhere(self, found: Collective, source: ast.expr, frame: Frame) -> Iterator[Finding]:
        """The last stage sends what only the first one has filled, or the other way round."""
        end = next(
            (
                end
                for end in ("first", "last")
                if f"get_pipeline_model_parallel_{end}_rank" in as_code(source)
            ),
            None,
        )
        sent = found.node.args[0] if found.node.args else None
        if end is None or not isinstance(sent, ast.Name):
            return
        other = "last" if end == "first" else "first"
        filled = [
            (node, condition(node.test, frame))
            for node in frame.scope.of(ast.If)
            if not node.orelse and _fills(node, sent.id)
        ]
        if len(filled) == 1 and filled[0][1] == Atom("pp", "0" if other == "first" else "last", PP):
            why = tr(
                "`%(name)s` is filled on the %(other)s stage alone (line %(line)s)",
                name=sent.id,
                other=tr("first") if other == "first" else tr("last"),
                line=filled[0][0].lineno,
            )
            yield self.finding(
                place_of(frame.module, found.node),
                object=frame.function_name,
                name=found.name,
                group=text_of(found.axes or PP),
                word="src",
                source=as_code(source),
                why=why,
                advice=tr("Fill it on the stage that sends it, or send it from the one that fills it."),
            )


def _fills(test: ast.If, name: str) -> bool:
    """`value.fill_(...)`, `value.copy_(...)`, `value[...] = ...` or `value = ...`"""
    for statement in test.body:
        if isinstance(statement, ast.Assign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(as_code(target).split("[")[0] == name for target in targets):
                return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and as_code(call.func) in (
            f"{name}.fill_",
            f"{name}.copy_",
            f"{name}.add_",
        ):
            return True
    return False


def _is_same(given: ast.expr, group: ast.expr, frame: Frame) -> bool:
    """Whether both mean one group: written alike, or `self.group`, which holds the parameter that was asked."""
    if as_code(given) == as_code(group):
        return True
    held = frame.project.knowledge(Attributes).of(frame.cls) if frame.cls is not None else {}
    values = held.get(as_code(group)[5:], []) if as_code(group).startswith("self.") else []
    return len(values) == 1 and as_code(values[0][0]) == as_code(given)


def _own_rank(node: ast.expr, frame: Frame, depth: int = 0) -> ast.Call | None:
    """The `dist.get_rank(group)` that `rank + 1` or `rank - 1` is made from."""
    if isinstance(node, ast.Call):
        return node if torch_name(node, frame) == "get_rank" else None
    if isinstance(node, ast.BinOp):
        is_step = isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant)
        is_ring = isinstance(node.op, ast.Mod)
        return _own_rank(node.left, frame, depth) if is_step or is_ring else None
    made = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) and depth < 3 else []
    return _own_rank(made[0][0], made[0][1], depth + 1) if len(made) == 1 else None


def _fault(source: ast.expr, frame: Frame, axes: Axes) -> str | None:
    value = source
    if isinstance(source, ast.Name):
        found = frame.definitions(source)
        if len(found) != 1:
            return None
        value = found[0][0]
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return tr("rank %(value)s belongs to one %(axes)s group only", value=value.value, axes=text_of(axes))
    named = source_axes(source, frame)
    if named is not None and named != axes:
        return tr("this one is the end of a %(named)s group", named=text_of(named))
    own = varies(source, frame)
    is_last = (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Sub)
        and size_axes(value.left, frame) == axes
    )
    if named is None and is_last:
        return tr(
            "this one counts inside the %(axes)s group, and the source is a global rank", axes=text_of(axes)
        )
    if named is None and own == axes:
        return tr("this one counts inside the %(axes)s group, and each rank names itself", axes=text_of(axes))
    return None


def _named_source(found: Collective, source: ast.expr, frame: Frame) -> Fix | None:
    """The library's source rank, asked for as the group is; None where that is not written in the function."""
    group: ast.expr | None = found.group
    if isinstance(group, ast.Name):
        made = frame.scope.bound.get(group.id, [])
        group = made[0] if len(made) == 1 else None
    if not isinstance(group, ast.Call) or group.args or group.keywords:
        return None
    asked = re.sub(
        r"get_(tensor_model|data)_parallel_group$", r"get_\1_parallel_src_rank", ast.unparse(group.func)
    )
    return unsafe(replace(frame.module, source, f"{asked}()")) if asked.endswith("_src_rank") else None
