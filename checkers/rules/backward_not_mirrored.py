"""E7757"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.places import in_tests
from ..project.project import External, Project
from ..rule import Rule, Symptom
from ..spmd.mirrors import exchanged_alike, shifted_alike
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FUNCTION = re.compile(r"\bFunction\b")
_GROUPS = re.compile(r"group|distributed|\bdist\b|parallel|all_to_all|shift")
_REDUCES = re.compile(r"\ball_reduce\(|\b_reduce\(")
_GATHERS = re.compile(r"all_gather|\b_gather\w*\(|\bgather_\w+\(|gather_along")
_OTHERS = re.compile(r"all_to_all|reduce_scatter|broadcast|send|recv|\.apply\(|scatter")
_COPY = re.compile(r"copy|identity|^f$|broadcast", re.IGNORECASE)
_OWN = re.compile(r"rank")


@dataclass(frozen=True)
class _Side:
    """What one direction of a function of autograd does with its tensor."""

    reduces: bool
    gathers: bool
    cuts: bool
    same: bool
    is_open: bool


class BackwardNotMirrored(Rule):
    """A hand-written function of autograd moves values between ranks, and its backward does not do the mirror of it."""

    code, symbol = "E7757", "backward-not-mirrored"
    message = "the forward of `%(name)s` %(forward)s, but its backward %(backward)s"
    advice = "Let the backward of `%(name)s` %(typed)s."
    why = (
        "Autograd runs what `backward` says, whatever `forward` did. A copy has the sum of the gradients as mirror, "
        "a gather the own slice, a cut the gather; a sum beside such a copy has the plain gradient."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "A gradient of another shape than its tensor ends the step; one of the right shape is of the wrong size."
    limits = (
        "For functions of autograd written out in the tree, with one tensor, whose collectives stand in their text. "
        "A forward that does nothing counts where it is given a group and nothing reads it; a sum in both directions "
        "where one function applies it with a copy that sums gradients as well."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist


    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, group):
            parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
            dist.all_gather(parts, x, group=group)
            return torch.cat(parts, dim=-1)

        @staticmethod
        def backward(ctx, grad):  # [backward-not-mirrored]
            return grad, None
    """
    good = """
    import torch
    import torch.distributed as dist


    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, group):
            ctx.group = group
            parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
            dist.all_gather(parts, x, group=group)
            return torch.cat(parts, dim=-1)

        @staticmethod
        def backward(ctx, grad):
            return grad.chunk(dist.get_world_size(ctx.group), dim=-1)[dist.get_rank(ctx.group)], None
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in project.modules:
            if in_tests(module.display) or not module.says(_FUNCTION) or not module.says(_GROUPS):
                continue
            copies = [cls for cls in module.classes.values() if _is_copy(project, cls)]
            for cls in module.classes.values():
                said = _fault(project, cls, any(_are_a_pair(module, copy, cls) for copy in copies))
                said = said or _plain_copy(project, module, cls) or _same_way(project, cls)
                if said is not None:
                    forward, backward, typed = said
                    yield self.finding(
                        place_of(module, cls.methods["backward"]),
                        object=cls.name,
                        name=cls.name,
                        forward=forward,
                        backward=backward,
                        typed=typed,
                    )


def _fault(project: Project, cls: ClassFacts, copies: bool) -> tuple[str, str, str] | None:
    sides = _sides(project, cls)
    if sides is None:
        return None
    forward, backward = sides
    if forward.is_open or backward.is_open:
        return None
    if forward.gathers and not forward.reduces and backward.same:
        return (
            tr("gathers the parts of the ranks"),
            tr("hands the whole gradient on"),
            tr("return the own slice"),
        )
    if forward.cuts and not (forward.gathers or forward.reduces or backward.gathers or backward.cuts):
        return tr("keeps the own part"), tr("returns a gradient of one part"), tr("gather the parts")
    if forward.same and backward.same and _ignores_group(cls):
        return (
            tr("copies its input to the ranks of a group"),
            tr("sums nothing over them"),
            tr("all-reduce the gradient"),
        )
    if forward.reduces and backward.reduces and copies and not forward.gathers:
        return (
            tr("sums over the ranks"),
            tr("sums the gradient again, as the copy of this file does"),
            tr("return the gradient as it is"),
        )
    return None


def _same_way(project: Project, cls: ClassFacts) -> tuple[str, str, str] | None:
    """An exchange or a shift whose backward goes the same way."""
    if _sides(project, cls) is None:
        return None
    exchange = exchanged_alike(cls)
    if exchange is not None:
        return (
            tr("exchanges parts by `%(call)s`", call=exchange),
            tr("gives it the same dimensions or sizes"),
            tr("exchange them: what was cut is joined, what was sent is received"),
        )
    shift = shifted_alike(project, cls)
    if shift is not None:
        return (
            tr("hands its tensor to the neighbour by `%(call)s`", call=shift),
            tr("hands the gradient on in the same direction"),
            tr("hand it back to the rank that the tensor came from"),
        )
    return None


def _plain_copy(project: Project, module: ModuleFacts, cls: ClassFacts) -> tuple[str, str, str] | None:
    """A copy to the ranks, by its name, beside a sum over them in one function; neither direction does anything."""
    sides = _sides(project, cls)
    if sides is None or not (sides[0].same and sides[1].same) or not _COPY.search(cls.name):
        return None
    for other in module.classes.values():
        found = _sides(project, other) if other is not cls else None
        if found is not None and found[0].reduces and found[1].same and _are_a_pair(module, cls, other):
            return (
                tr("copies its input to the ranks of a group"),
                tr("sums nothing over them"),
                tr("all-reduce the gradient"),
            )
    return None


def _sides(project: Project, cls: ClassFacts) -> tuple[_Side, _Side] | None:
    methods = cls.methods.get("forward"), cls.methods.get("backward")
    is_function = any(
        isinstance(entry, External) and entry.dotted.startswith("torch.autograd")
        for entry in project.mro(cls)[1:]
    )
    if methods[0] is None or methods[1] is None or not is_function:
        return None
    return _side(cls, methods[0], 1), _side(cls, methods[1], 1)


def _side(cls: ClassFacts, method: ast.FunctionDef, at: int) -> _Side:
    """One direction, by its own text; open where it calls what may do more."""
    text = cls.module.text_of(method)
    names = [arg.arg for arg in method.args.args]
    tensor = names[at] if len(names) > at else ""
    returned = [
        node.value for node in walk(method) if isinstance(node, ast.Return) and node.value is not None
    ]
    firsts = [value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value for value in returned]
    written = any(
        isinstance(node, ast.Assign | ast.AugAssign)
        and any(isinstance(part, ast.Name) and part.id == tensor for part in _targets(node))
        for node in walk(method)
    )
    same = bool(firsts) and not written and all(_is_name(value, tensor) for value in firsts)
    reduces, gathers = _REDUCES.search(text) is not None, _GATHERS.search(text) is not None
    cuts = any(_takes_own(node) for node in walk(method))
    return _Side(
        reduces,
        gathers,
        cuts,
        same and not (reduces or gathers or cuts),
        not tensor or _OTHERS.search(text) is not None,
    )


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_name(value: ast.expr, name: str) -> bool:
    """`x`, `x.clone()`, `x.view_as(x)`"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("clone", "contiguous", "view_as"):
            return False
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name


def _takes_own(node: ast.AST) -> bool:
    """`x.chunk(n)[rank]`, `parts[rank]`, `x.narrow(dim, rank * n, n)`"""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return _OWN.search(ast.unparse(node.slice)) is not None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "narrow":
        return any(_OWN.search(ast.unparse(arg)) for arg in node.args)
    return False


def _is_copy(project: Project, cls: ClassFacts) -> bool:
    """A function that hands its input on, and sums the gradients."""
    sides = _sides(project, cls)
    return sides is not None and sides[0].same and sides[1].reduces


def _are_a_pair(module: ModuleFacts, copy: ClassFacts, cls: ClassFacts) -> bool:
    """Whether one function or class of the file applies both."""
    used = [rf"\b{name}\.apply\(" for name in (copy.name, cls.name)]
    return any(
        all(re.search(pattern, module.text_of(node)) for pattern in used)
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )


def _ignores_group(cls: ClassFacts) -> bool:
    """Whether a group is given and stored, and nothing reads it: `ctx.group = group`, and no `ctx.group` behind it."""
    forward, backward = cls.methods["forward"], cls.methods["backward"]
    given = [arg.arg for arg in forward.args.args if "group" in arg.arg]
    stored = [
        target.attr
        for node in walk(forward)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given
        for target in node.targets
        if isinstance(target, ast.Attribute)
    ]
    text = cls.module.text_of(backward)
    return bool(given) and bool(stored) and not any(re.search(rf"\.{name}\b", text) for name in stored)
