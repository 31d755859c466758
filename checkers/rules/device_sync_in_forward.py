"""R7612"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.forwards import forward_frames
from ..spmd.frames import Frame
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_REDUCED = frozenset("max min any all sum mean item nonzero".split())
_KEEPS = frozenset(
    "to float half bfloat16 contiguous view reshape clone detach unsqueeze squeeze bool long int".split()
)


_MEASURES = ("device", "dtype", "to", "unsqueeze", "shape")


class DeviceSyncInForward(Rule):
    """A forward branches in Python on what a tensor holds."""

    code, symbol = "R7612", "device-sync-in-forward"
    message = "`%(test)s` reads a number back from the device in each forward, before Python can go on"
    advice = (
        "Decide it on the device (`torch.where`), or once, outside of the forward, where the tensor is made."
    )
    why = (
        "A Python test needs the value, so the host waits until the device has finished everything before it, and the "
        "device then waits for the host. In a pipeline each stage stands still at that line for every micro-batch."
    )
    symptom = Symptom.COST
    runtime = "Gaps in the profile at each call; CUDA graphs cannot be captured."
    limits = (
        "Tests of reductions (`.max() > 0`, `.any()`, `.item()`) of the forward's own arguments and of views of them, "
        "in the files of stages and distributed modules."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, x, mask):
            if mask.max() > 0:  # [device-sync-in-forward]
                x = x.masked_fill(mask > 0, float("-inf"))
            return torch.softmax(x, dim=-1)
    """
    good = """
    import torch
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, x, mask):
            x = torch.where(mask > 0, float("-inf"), x)
            return torch.softmax(x, dim=-1)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in forward_frames(analysis.project):
            function = frame.scope.function
            if function is None or function.name != "forward":
                continue
            for node in frame.scope.of(ast.If, ast.While, ast.IfExp):
                read = next((part for part in walk(node.test) if _reads(part, frame)), None)
                if read is not None:
                    yield self.finding(
                        place_of(frame.module, node.test),
                        object=f"{frame.cls.name}.forward" if frame.cls is not None else "",
                        test=ast.unparse(node.test),
                    )


def _reads(node: ast.AST, frame: Frame) -> bool:
    """`argument.max()`, `torch.any(argument > 0)`"""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _REDUCED
    ):
        return False
    if frame.external(node.func.value) == "torch":
        return bool(node.args) and _is_tensor(node.args[0], frame, 0)
    return not node.args and not node.keywords and _is_tensor(node.func.value, frame, 0)


def _is_tensor(node: ast.expr, frame: Frame, depth: int) -> bool:
    """Whether a value is an argument of the forward, or computed from one as tensors are."""
    if depth > 6:
        return False
    if isinstance(node, ast.Compare):
        return _is_tensor(node.left, frame, depth + 1)
    if isinstance(node, ast.BinOp):
        return any(_is_tensor(side, frame, depth + 1) for side in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _is_tensor(node.value, frame, depth + 1)
    if isinstance(node, ast.Call) and frame.external(node.func).startswith("torch."):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _KEEPS and _is_tensor(node.func.value, frame, depth + 1)
    if not isinstance(node, ast.Name):
        return False
    found = frame.scope.bound.get(node.id, [])
    if node.id in frame.scope.parameters[1:] and _used_as_tensor(node.id, frame):
        return True
    return bool(found) and all(_is_tensor(value, frame, depth + 1) for value in found)


def _used_as_tensor(name: str, frame: Frame) -> bool:
    """Whether the annotation, or what the forward does with an argument, says that it is a tensor."""
    function = frame.scope.function
    args = [arg for arg in function.args.args if arg.arg == name] if function is not None else []
    said = ast.unparse(args[0].annotation) if args and args[0].annotation is not None else ""
    if said:
        return "Tensor" in said
    for node in frame.scope.nodes:
        held = node.value if isinstance(node, ast.Attribute) else getattr(node, "left", None)
        if isinstance(held, ast.Name) and held.id == name:
            if isinstance(node, ast.Compare) or getattr(node, "attr", "") in _MEASURES:
                return True
    return False
