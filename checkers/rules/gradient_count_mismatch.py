"""E7773"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.places import in_tests
from ..project.project import External, Project
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FUNCTION = re.compile(r"\bFunction\b")


class GradientCountMismatch(Rule):
    """The backward of a function of autograd returns another number of gradients than its forward takes inputs."""

    code, symbol = "E7773", "gradient-count-mismatch"
    message = (
        "`backward` of `%(name)s` returns %(given)s, and its `forward` takes %(taken)s after the context"
    )
    advice = "Return one gradient for each input of `forward`, in its order, and None for what has none."
    why = "Autograd hands each returned value to the input of the same place, and refuses another number of them."
    symptom = Symptom.CRASH
    runtime = "RuntimeError in the first backward pass: returned an incorrect number of gradients"
    limits = "For functions whose inputs stand in the signature, without defaults, and returns that are written out."
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist


    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, group):
            ctx.group = group
            return x

        @staticmethod
        def backward(ctx, grad):
            dist.all_reduce(grad, group=ctx.group)
            return -grad  # [gradient-count-mismatch]
    """
    good = bad.replace("return -grad  # [gradient-count-mismatch]", "return -grad, None")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if in_tests(module.display) or not module.says(_FUNCTION):
                continue
            for cls in module.classes.values():
                taken = _taken(analysis.project, cls)
                for node, given in _given(cls) if taken is not None else ():
                    if given < (taken or 0) or (given > (taken or 0) and not _ends_in_none(node, taken or 0)):
                        yield self.finding(
                            place_of(module, node),
                            object=cls.name,
                            evidence=(
                                Evidence(
                                    module.display, cls.methods["forward"].lineno, tr("the inputs stand here")
                                ),
                            ),
                            name=cls.name,
                            given=tr("1 value") if given == 1 else tr("%(count)s values", count=given),
                            taken=tr("1 input") if taken == 1 else tr("%(count)s inputs", count=taken),
                        )


def _taken(project: Project, cls: ClassFacts) -> int | None:
    """The number of inputs of `forward`, where it is fixed."""
    forward = cls.methods.get("forward")
    is_function = any(
        isinstance(entry, External)
        and entry.dotted in ("torch.autograd.Function", "torch.autograd.function.Function")
        for entry in project.mro(cls)[1:]
    )
    if forward is None or not is_function or "backward" not in cls.methods:
        return None
    spec = forward.args
    if spec.vararg or spec.kwarg or spec.defaults or spec.kwonlyargs or spec.posonlyargs:
        return None
    return len(spec.args) - (0 if "setup_context" in cls.methods else 1)


def _given(cls: ClassFacts) -> Iterator[tuple[ast.Return, int]]:
    """The returns of `backward` with the number of values, where that can be read."""
    backward = cls.methods["backward"]
    nested = {
        id(part)
        for node in walk(backward)
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not backward
        for part in walk(node)
    }
    for node in walk(backward):
        if not isinstance(node, ast.Return) or id(node) in nested or node.value is None:
            continue
        if isinstance(node.value, ast.Tuple):
            if not any(isinstance(part, ast.Starred) for part in node.value.elts):
                yield node, len(node.value.elts)
        elif _is_one(node.value):
            yield node, 1


def _is_one(value: ast.expr) -> bool:
    """An expression that is a tensor: no sum of tuples, and no name that may hold one."""
    is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    if not isinstance(value, ast.BinOp | ast.UnaryOp) or is_sum:
        return False
    return not any(isinstance(part, ast.Tuple | ast.List) for part in walk(value))


def _ends_in_none(node: ast.Return, taken: int) -> bool:
    """Whether everything beyond the inputs is None, which autograd lets pass."""
    rest = node.value.elts[taken:] if isinstance(node.value, ast.Tuple) else []
    return all(isinstance(part, ast.Constant) and part.value is None for part in rest)
