"""E7762"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, is_none
from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import torch_name
from ..spmd.frames import Frame, functions, returns
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RECEIVES = re.compile(r"\bi?recv\(")
_GRADIENTS = re.compile(r"\.grad\b")
_MAKES = re.compile(r"(empty|zeros|empty_like|zeros_like|new_empty|new_zeros)")


class ReceivedWithoutGradient(Rule):
    """The gradient of a received tensor is read, and the tensor was made to have none."""

    code, symbol = "E7762", "received-without-gradient"
    message = (
        "`%(text)s` is None: `%(made)s`, into which the activation is received, does not require a gradient"
    )
    advice = "Make the buffer with `requires_grad=True`, or call `requires_grad_()` on what was received."
    why = (
        "A stage sends back the gradient of what it received. Autograd keeps one only for a leaf that asks for it, and "
        "a buffer of `torch.empty` does not by itself."
    )
    symptom = Symptom.CRASH
    runtime = "None is sent to the stage before: a TypeError in `send`, or a stage that never learns"
    limits = (
        "Where one function makes the buffer and receives into it, and the same function, or the one that calls it, "
        "reads the `.grad` of that name; silent where `requires_grad` is spoken of on the way."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    import torch.distributed as dist


    def received(shape, source):
        x = torch.empty(shape)
        dist.recv(x, src=source)
        return x


    def stage(model, shape, source):
        x = received(shape, source)
        model(x).sum().backward()
        dist.send(x.grad, dst=source)  # [received-without-gradient]
    """
    good = (
        bad.replace("torch.empty(shape)", "torch.empty(shape, requires_grad=True)")
        .replace("dist.recv(x, src", "dist.recv(x.data, src")
        .replace("  # [received-without-gradient]", "")
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _RECEIVES, _GRADIENTS):
            function = frame.scope.function
            text = frame.module.text_of(function) if function is not None else ""
            if not _GRADIENTS.search(text) or "requires_grad" in text:
                continue
            for name, made, where in _received(frame):
                read = next((node for node in frame.scope.nodes if _is_gradient(node, name)), None)
                if read is not None:
                    yield self.finding(
                        place_of(frame.module, read),
                        object=function.name if function is not None else "",
                        evidence=(
                            Evidence(where.module.display, made.lineno, tr("the buffer is made here")),
                        ),
                        text=as_code(read),
                        made=as_code(made)[:60],
                    )


def _received(frame: Frame) -> Iterator[tuple[str, ast.Call, Frame]]:
    """Names of this function that hold a received buffer: made here, or by a function that it calls."""
    yield from ((name, made, frame) for name, made in _buffers(frame))
    for name, values in frame.scope.bound.items():
        calls = [value for value in values if isinstance(value, ast.Call)]
        others = [value for value in values if value not in calls and not is_none(value)]
        inner = frame.callee(calls[0]) if len(calls) == 1 and not others and "." not in name else None
        function = inner.scope.function if inner is not None else None
        if inner is None or function is None or "requires_grad" in inner.module.text_of(function):
            continue
        given = [value for value in returns(inner) if not is_none(value)]
        for held, made in _buffers(inner):
            if len(given) == 1 and as_code(given[0]) == held:
                yield name, made, inner


def _buffers(frame: Frame) -> Iterator[tuple[str, ast.Call]]:
    """`x = torch.empty(...)` before `recv(x, ...)`"""
    for call in frame.scope.calls:
        if torch_name(call, frame) not in ("recv", "irecv") or not call.args:
            continue
        given = call.args[0]
        if isinstance(given, ast.Attribute) and given.attr == "data":
            given = given.value
        name = given.id if isinstance(given, ast.Name) else None
        values = frame.scope.bound.get(name, []) if name is not None else []
        made = values[0] if len(values) == 1 else None
        if (
            name is not None
            and isinstance(made, ast.Call)
            and _MAKES.fullmatch(as_code(made.func).rpartition(".")[2])
        ):
            yield name, made


def _is_gradient(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    )
