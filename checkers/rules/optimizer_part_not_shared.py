"""E7760"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.axes import varies
from ..spmd.frames import Attributes, Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_OPTIMIZERS = re.compile(r"\b(AdamW?|SGD|Adagrad|RMSprop|Adafactor|LAMB|Lion|NAdam|RAdam)\(")
_RANKS = re.compile(r"rank")
_SHARES = re.compile(r"broadcast|all_gather|gather_|_gather|scatter|sync|all_to_all|isend|send\(")


class OptimizerPartNotShared(Rule):
    """Each rank steps its part of the parameters, and the ranks never exchange what they have stepped."""

    code, symbol = "E7760", "optimizer-part-not-shared"
    message = "`%(text)s` steps the parameters of this rank alone, and nothing sends them to the other ranks"
    advice = (
        "Behind the step, let each rank broadcast its parameters to the group, or gather the parts of all."
    )
    why = (
        "An optimizer split over replicas updates each parameter on one of them. The others keep the old value until "
        "they are given the new one."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "each replica trains its own part of the model on top of first values; the replicas are different models"
    limits = (
        "Where an optimizer of torch gets `parameters[rank::size]` of a list, and the class (or the file, for a "
        "function) names no collective that could send parameters."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    import torch.distributed as dist


    class Sharded:
        def __init__(self, params, lr):
            self.params = list(params)
            self.rank, self.world = dist.get_rank(), dist.get_world_size()
            self.inner = torch.optim.AdamW(self.params[self.rank :: self.world], lr=lr)

        def step(self):
            for p in self.params:
                dist.all_reduce(p.grad)
                p.grad /= self.world
            self.inner.step()  # [optimizer-part-not-shared]
    """
    good = bad.replace(
        "            self.inner.step()  # [optimizer-part-not-shared]",
        "            self.inner.step()\n            for i, p in enumerate(self.params):\n"
        "                dist.broadcast(p.data, src=i % self.world)",
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _RANKS, _WRITES):
            for loop in frame.scope.nodes:
                if not isinstance(loop, ast.For) or not _is_own_part(loop.iter, frame):
                    continue
                update = next((part for part in walk(loop) if _updates(part, as_code(loop.target))), None)
                if isinstance(update, ast.expr) and not _SHARES.search(_text(frame)):
                    yield self.finding(
                        place_of(frame.module, update), object=frame.function_name, text=as_code(update)
                    )
        for frame in functions(analysis.project, _OPTIMIZERS, _RANKS):
            for node in frame.scope.nodes:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                call, name = node.value, as_code(node.targets[0])
                if not frame.external(call.func).startswith("torch.optim.") or not call.args:
                    continue
                if not _is_own_part(call.args[0], frame) or _SHARES.search(_text(frame)):
                    continue
                for step, where in _steps(name, frame):
                    yield self.finding(
                        place_of(frame.module, step),
                        object=where,
                        text=as_code(step),
                    )


_WRITES = re.compile(r"\.(add_|sub_|addcdiv_)\([^\n]*grad")


def _updates(node: ast.AST, name: str) -> bool:
    """`p.add_(p.grad, alpha=-lr)`, `p.data.sub_(lr * p.grad)`"""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = as_code(node.func.value).removesuffix(".data")
    return (
        owner == name and node.func.attr in ("add_", "sub_", "addcdiv_") and f"{name}.grad" in as_code(node)
    )


def _text(frame: Frame) -> str:
    return frame.cls.text if frame.cls is not None and not frame.cls.node.bases else frame.module.text


def _is_own_part(node: ast.expr, frame: Frame) -> bool:
    """`params[rank::size]`, also by name."""
    if isinstance(node, ast.Name | ast.Attribute):
        found = _values(node, frame)
        return len(found) == 1 and _is_own_part(*found[0])
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return False
    lower, step = node.slice.lower, node.slice.step
    return lower is not None and step is not None and bool(varies(lower, frame))


def _values(node: ast.Name | ast.Attribute, frame: Frame) -> list[tuple[ast.expr, Frame]]:
    if isinstance(node, ast.Attribute) and frame.cls is not None and as_code(node.value) == "self":
        held = frame.project.knowledge(Attributes).of(frame.cls).get(node.attr, [])
        return [(value, Frame(frame.project, scope, frame.cls)) for value, scope in held]
    return frame.definitions(node)


def _steps(name: str, frame: Frame) -> Iterator[tuple[ast.Call, str]]:
    """Where the optimizer steps: in the class that keeps it, or in the function that made it."""
    function = frame.scope.function
    bodies = list(frame.cls.methods.values()) if frame.cls is not None and name.startswith("self.") else []
    for body in bodies or ([function] if function is not None else []):
        for node in walk(body):
            if isinstance(node, ast.Call) and as_code(node.func) == f"{name}.step":
                yield node, body.name
