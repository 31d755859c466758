"""E7766"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SENDS = {
    "all_reduce": (0,), "broadcast": (0,), "send": (0,), "isend": (0,), "recv": (0,), "irecv": (0,),
    "all_gather_into_tensor": (0, 1), "reduce_scatter_tensor": (0, 1), "all_to_all_single": (0, 1), "all_gather": (1,),
}  # fmt: skip
_MARK = re.compile(
    r"(all_reduce|broadcast|send|recv|all_gather\w*|reduce_scatter_tensor|all_to_all_single)\(|P2POp\("
)
_TURNS = frozenset("transpose permute swapaxes movedim t".split())
_KEEPS = frozenset("detach".split())
_MAX_DEPTH = 4


class CollectiveOfView(Rule):
    """A collective or message gets a view whose numbers do not lie side by side in memory."""

    code, symbol = "E7766", "collective-of-view"
    message = "`%(call)s` is given `%(view)s`, a view whose numbers do not lie side by side in memory"
    advice = "Make it contiguous first: `%(view)s.contiguous()`."
    why = "NCCL sends one stretch of memory. torch refuses tensors with gaps, or of axes in another order."
    symptom = Symptom.CRASH
    runtime = "ValueError: Tensors must be contiguous"
    limits = (
        "Slices behind a whole first axis, and transposed tensors, written in the call or one name before. Where the "
        "first axis has one entry, such a slice has no gaps."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "A result that is written in place must be copied back."

    bad = """
    import torch
    import torch.distributed as dist


    def send_edge(x, group, ahead):
        edge = x[:, :4]
        dist.send(edge, ahead, group=group)  # [collective-of-view]
        return dist.get_world_size(group)
    """
    good = """
    import torch
    import torch.distributed as dist


    def send_edge(x, group, ahead):
        edge = x[:, :4].contiguous()
        dist.send(edge, ahead, group=group)
        return dist.get_world_size(group)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MARK):
            for call in frame.scope.calls:
                for given, is_filled in _tensors(call, frame):
                    if _has_gaps(given, frame, 0):
                        back = tr(
                            "Run it on `whole = %(view)s.contiguous()`, then copy back: `%(view)s.copy_(whole)`.",
                            view=as_code(given),
                        )
                        yield self.finding(
                            place_of(frame.module, call),
                            object=frame.function_name,
                            fix=None
                            if is_filled
                            else unsafe(insert_after(frame.module, given, ".contiguous()")),
                            advice=back if is_filled else None,
                            call=as_code(call.func),
                            view=as_code(given),
                        )
                        break


def _tensors(call: ast.Call, frame: Frame) -> list[tuple[ast.expr, bool]]:
    """What a call sends or fills, and whether it fills it."""
    name = torch_name(call, frame)
    if name == "P2POp":
        return [(tensor, not as_code(call.args[0]).endswith("isend")) for tensor in call.args[1:2]]
    only_sent = name in ("send", "isend")
    return [
        (call.args[index], index == 0 and not only_sent)
        for index in _SENDS.get(name, ())
        if index < len(call.args)
    ]


def _has_gaps(node: ast.expr, frame: Frame, depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.IfExp):
        return all(_has_gaps(part, frame, depth + 1) for part in (node.body, node.orelse))
    if isinstance(node, ast.Subscript):
        return _skips(node.slice)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = last_name(node.func)
        if name in _TURNS:
            return frame.external(node.func.value) != "torch"
        return name in _KEEPS and _has_gaps(node.func.value, frame, depth + 1)
    if isinstance(node, ast.Attribute):
        return node.attr in ("T", "mT")
    if isinstance(node, ast.Name):
        found = frame.definitions(node)
        return len(found) == 1 and _has_gaps(found[0][0], found[0][1], depth + 1)
    return False


def _skips(index: ast.expr) -> bool:
    """`[:, a:b]`: a part of each entry of the first axis."""
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2:
        return False
    first, *rest = index.elts
    is_whole = isinstance(first, ast.Slice) and first.lower is first.upper is first.step is None
    cut = [part for part in rest if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    return is_whole and bool(cut) and all(isinstance(part, ast.Slice) for part in rest)
