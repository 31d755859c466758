"""E7231"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent, StageFlow
from ..project.originals import Originals
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_BUFFERS = re.compile(r"pipeline_dtype=")
_CONVERTS = re.compile(r"\.half\(|\.double\(|float16|float64|\.to\(dtype|autocast")


class BoundaryDtypeMismatch(Rule):
    """A tensor crosses a boundary in another type than the receive buffer has."""

    code, symbol = "E7231", "boundary-dtype-mismatch"
    message = "`%(cls)s` sends `%(name)s` as %(dtype)s, but %(other)s"
    advice = "%(repair)s"
    why = (
        "The receiver allocates every buffer in the one pipeline dtype. The bytes of an integer or bool "
        "tensor do not fit: the transfer hangs, or its numbers are garbage."
    )
    symptom = Symptom.HANG
    runtime = "training hangs before the first step; NCCL watchdog after its timeout"
    limits = (
        "The type must be written: `.long()`, `dtype=torch.bool`, a comparison, sizes in `torch.tensor`, or "
        "`pipeline_dtype` beside `params_dtype`. Silent on last stages."
    )
    guide = "1.4: only tensors of the pipeline cross stages"

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            B, N, C = x.shape
            x = self.layer(x)
            grid = torch.tensor([B, N, C], device=x.device)
            return x, grid  # [boundary-dtype-mismatch]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, grid = self.input_tensor
            return self.layer(x)
    """
    good = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            for sent in flow.sent() if flow.sends else ():
                if sent.count > 1 or flow.stage.family.ordered:
                    yield from self._judge(flow, sent)
        for frame in functions(analysis.project, _BUFFERS):
            for call in frame.scope.calls:
                yield from self._configured(frame, call)

    def _configured(self, frame: Frame, call: ast.Call) -> Iterator[Finding]:
        """A configuration whose buffers are of one type, and whose parameters of another, written beside each other."""
        given = {word.arg: word.value for word in call.keywords}
        buffers, params = given.get("pipeline_dtype"), given.get("params_dtype")
        if buffers is None or params is None:
            return
        received, sent = _types(buffers, frame), _types(params, frame)
        if received and sent and (received.isdisjoint(sent) or (len(received) == 1 and sent > received)):
            yield self.finding(
                place_of(frame.module, buffers),
                object=ast.unparse(call.func),
                message="the receive buffers are %(received)s, and the parameters, so what stages send, may be "
                "%(sent)s",
                advice="Write `pipeline_dtype=%(params)s`, as for the parameters.",
                received=", ".join(sorted(received)),
                sent=", ".join(sorted(sent - received)),
                params=ast.unparse(params),
            )

    def _judge(self, flow: StageFlow, sent: Sent) -> Iterator[Finding]:
        dtype, other = sent.origin.dtype, tr("the receive buffer has the pipeline dtype")
        fix = tr("Do not send it: compute it on the next stage from the constructor's arguments.")
        if dtype in ("half", "float64"):
            items = sent.seen.origin.items or ()
            explicit = {
                item.dtype
                for item in items
                if item.is_tensor and item.dtype in ("half", "float32", "float64")
            }
            if sent.origin.constant:
                return
            if len(explicit) < 2 and not _only_here(flow):
                return
            other = (
                other
                if len(explicit) < 2
                else tr(
                    "another tensor of the same tuple as %(names)s",
                    names=", ".join(sorted(explicit - {dtype})),
                )
            )
            fix = tr("Send all tensors in one dtype, that of the pipeline.")
        elif dtype not in ("int", "bool") or not sent.origin.is_tensor:
            return
        text = {"int": tr("an integer tensor"), "bool": tr("a bool tensor")}.get(dtype, dtype)
        where = place_of(sent.seen.module, sent.seen.node)
        name = sent.name or tr("element %(index)s", index=sent.index)
        cls = flow.stage.cls.name
        yield self.finding(where, object=cls, cls=cls, name=name, dtype=text, other=other, repair=fix)


def _types(node: ast.expr, frame: Frame) -> frozenset[str]:
    """The types of torch that an expression may be; empty where that cannot be told."""
    name = frame.external(node)
    if name.startswith("torch.") and name.count(".") == 1:
        return frozenset({name})
    if isinstance(node, ast.IfExp):
        parts = [_types(part, frame) for part in (node.body, node.orelse)]
    else:
        parts = [_types(value, where) for value, where in frame.definitions(node)]
    return frozenset().union(*parts) if parts and all(parts) else frozenset()


def _only_here(flow: StageFlow) -> bool:
    """Whether the original model is found and converts nothing: the pipeline's dtype is that of the training."""
    original = flow.project.knowledge(Originals).of(flow.stage.family)
    return original is not None and not _CONVERTS.search(original.text)
