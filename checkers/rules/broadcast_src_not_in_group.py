"""E7704"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import size_axes, source_axes, varies
from ..spmd.collectives import Collective, Entered
from ..spmd.frames import Frame, functions
from ..spmd.names import EMBEDDING, TORCH_ROOT, WORLD, Axes, text_of
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
        "rank of another axis; `group_src` counts inside the group and is right."
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
            return
        known = _SOURCE.get(text_of(axes))
        advice = (
            tr("Write `%(word)s=parallel_state.%(known)s`.", word=word, known=known)
            if known
            else tr("Write `group_%(word)s=0`.", word=word)
        )
        yield self.finding(
            place_of(frame.module, found.node),
            object=frame.scope.function.name if frame.scope.function is not None else "",
            evidence=(Evidence(frame.module.display, source.lineno, why),),
            name=found.name,
            group=text_of(axes),
            word=word,
            source=ast.unparse(source),
            why=why,
            advice=advice,
            fix=_named_source(found, source, frame),
        )


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
