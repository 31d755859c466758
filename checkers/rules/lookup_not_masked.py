"""E7133"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..spmd.axes import last_name, size_axes
from ..spmd.collectives import Collective, Entered
from ..spmd.dependence import depends
from ..spmd.frames import Frame, functions
from ..spmd.names import text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MARKS = re.compile(r"rank|start|first|\blo\b")
_SUMS = re.compile(r"all_reduce|reduce_from_|reduce_scatter")
_LOOKS = frozenset(("embedding", "gather"))


class LookupNotMasked(Rule):
    """What a rank looks up for entries of other ranks is added to what those ranks found."""

    code, symbol = "E7133", "lookup-not-masked"
    message = (
        "`%(sum)s` adds up what each rank looked up at line %(line)s, also where `%(mask)s` says that another rank has "
        "the entry"
    )
    advice = "Set it to zero there before the sum: `%(name)s = %(name)s.masked_fill(%(typed)s, 0.0)`."
    why = (
        "An index outside the rank's part is set to some entry of the part, so that the look-up does not fail. What it "
        "finds there means nothing, and the sum over the ranks takes it in."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "every entry has the first rows of the other ranks' parts added to it; tp=1 is right"
    limits = (
        "Where one function has the two comparisons with the ends of the part, the look-up and the sum, and where "
        "nothing reads the mask between look-up and sum."
    )
    guide = "beyond the guide"
    bad = """
    import torch.nn.functional as F
    import torch.distributed as dist
    from megatron.core import parallel_state


    def embed(ids, weight, start):
        outside = (ids < start) | (ids >= start + weight.shape[0])
        local = (ids - start).masked_fill(outside, 0)
        found = F.embedding(local, weight)
        dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())  # [lookup-not-masked]
        return found
    """
    good = bad.replace(
        "        dist.all_reduce(",
        "        found = found.masked_fill(outside.unsqueeze(-1), 0.0)\n        dist.all_reduce(",
    ).replace("  # [lookup-not-masked]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MARKS, _SUMS):
            masks = list(_masks(frame))
            yield from self._clamped(frame) if not masks else ()
            for name, look, statement in _looked_up(frame) if masks else ():
                yield from self._ranges(name, look, masks, frame)
                total = _sum_of(name, look, frame)
                # a look-up by an index that the mask had no part in is another one
                used = [mask for mask in masks if mask[0] in _behind(look, frame)]
                if total is None or len(used) != 1:
                    continue
                mask, outside = used[0]
                if not _reads(frame, mask, look.lineno, total.lineno) and not _is_beside(
                    mask, look, statement
                ):
                    yield self.finding(
                        place_of(frame.module, total),
                        object=frame.function_name,
                        sum=last_name(total.func),
                        line=look.lineno,
                        mask=mask,
                        name=name,
                        typed=(mask if outside else f"~{mask}")
                        + (".unsqueeze(-1)" if last_name(look.func) == "embedding" else ""),
                    )

    def _clamped(self, frame: Frame) -> Iterator[Finding]:
        """An index that is only clamped into the rank's part, in a function that compares and multiplies nothing."""
        if any(_may_mask(node) for node in frame.scope.nodes):
            return
        for name, look, statement in _looked_up(frame):
            total = _sum_of(name, look, frame) if statement.value is look else None
            given = next((arg for arg in look.args[:2] if isinstance(arg, ast.Name)), None)
            if total is None or given is None or not _is_clamped(given.id, frame):
                continue
            yield self.finding(
                place_of(frame.module, total),
                object=frame.function_name,
                message="`%(sum)s` adds up what each rank looked up at line %(line)s, also for entries of other ranks: "
                "`%(index)s` is only clamped into the own part",
                advice="Note before the clamp which indices lie outside, and set what they found to zero.",
                sum=last_name(total.func),
                line=look.lineno,
                index=given.id,
            )

    def _ranges(
        self, name: str, look: ast.Call, masks: list[tuple[str, bool]], frame: Frame
    ) -> Iterator[Finding]:
        """Masks whose range is not that of the rank in the group that the sum goes over."""
        used = [mask for mask, _ in masks if mask in _behind(look, frame)]
        sums = [
            entry
            for entry in frame.project.knowledge(Entered).of(frame)
            if entry.node.lineno > look.lineno and entry.node.args and as_code(entry.node.args[0]) == name
        ]
        bound = _bounds(frame, used[0]) if len(used) == 1 and sums else None
        wrong = _wrong_range(bound, sums[0], frame) if bound is not None else None
        if wrong is not None:
            yield self.finding(
                place_of(frame.module, sums[0].node),
                object=frame.function_name,
                message="%(wrong)s",
                wrong=wrong,
                advice=tr("Begin the range at `rank * width`, with the rank in the group of the sum."),
            )


def _may_mask(node: ast.AST) -> bool:
    """Whether a node may tell the own entries from others, or set some to zero."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in (
            "where",
            "masked_fill",
            "masked_fill_",
            "mul",
            "mul_",
            "bucketize",
            "isin",
        )
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.BitAnd | ast.BitOr)
    is_item = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return is_product or is_item or isinstance(node, ast.Compare)


def _is_clamped(name: str, frame: Frame) -> bool:
    """Whether a name holds a difference that is clamped at both ends: `(ids - start).clamp(0, n - 1)`."""
    made = [getattr(value, "source", value) for value in frame.scope.bound.get(name, [])]
    clamps = [node for value in made for node in walk(value) if isinstance(node, ast.Call)]
    ends = [node for node in clamps if last_name(node.func) in ("clamp", "clip") and len(node.args) >= 2]
    shifted = any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) for v in made for node in walk(v)
    )
    return bool(ends) and shifted and "1" in as_code(ends[0].args[-1])


def _bounds(frame: Frame, mask: str) -> ast.expr | None:
    """The lower bound of a mask: `lo` of `(t < lo) | (t >= hi)`."""
    for node in frame.scope.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            side = node.value.left
            if dotted_name(node.targets[0]) == mask and isinstance(side, ast.Compare):
                return side.comparators[0]
    return None


def _wrong_range(bound: ast.expr, entry: Collective, frame: Frame) -> str | None:
    """What is wrong with where the range of a mask begins, beside the ranks that the sum goes over."""
    begins = depends(bound, frame)
    if begins and entry.axes and not begins & entry.axes:
        return tr(
            "the range of `%(bound)s` is that of a %(own)s rank, and the sum goes over the %(group)s group",
            bound=as_code(bound),
            own=text_of(begins),
            group=text_of(entry.axes),
        )
    if not begins and _is_width(bound, frame):
        return tr(
            "`%(bound)s` is the width of a part: the range begins there on every rank", bound=as_code(bound)
        )
    return None


def _is_width(node: ast.expr, frame: Frame, depth: int = 0) -> bool:
    """`x.size(-1)`, `x.shape[-1]` or `n // size`, also by name."""
    if isinstance(node, ast.Name | ast.Attribute) and depth < 3:
        held = frame.definitions(node)
        return len(held) == 1 and _is_width(held[0][0], held[0][1], depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return bool(size_axes(node.right, frame))
    if isinstance(node, ast.Call):
        return last_name(node.func) == "size" and len(node.args) == 1
    return isinstance(node, ast.Subscript) and as_code(node.value).endswith(".shape")


def _masks(frame: Frame) -> Iterator[tuple[str, bool]]:
    """Names of `(t < lo) | (t >= hi)` and `(t >= lo) & (t < hi)`, and whether they mean what is outside."""
    for node in frame.scope.nodes:
        if (
            not isinstance(node, ast.Assign)
            or not isinstance(node.value, ast.BinOp)
            or len(node.targets) != 1
        ):
            continue
        name, value = dotted_name(node.targets[0]), node.value
        sides = [
            part for part in (value.left, value.right) if isinstance(part, ast.Compare) and len(part.ops) == 1
        ]
        if name is None or len(sides) != 2 or as_code(sides[0].left) != as_code(sides[1].left):
            continue
        tests = [type(side.ops[0]) for side in sides]
        if isinstance(value.op, ast.BitOr) and tests == [ast.Lt, ast.GtE]:
            yield name, True
        elif isinstance(value.op, ast.BitAnd) and tests == [ast.GtE, ast.Lt]:
            yield name, False


def _looked_up(frame: Frame) -> Iterator[tuple[str, ast.Call, ast.Assign]]:
    """`found = F.embedding(...)` and `found = x.gather(...).squeeze(-1)`"""
    for node in frame.scope.nodes:
        if (
            not isinstance(node, ast.Assign)
            or len(node.targets) != 1
            or not isinstance(node.targets[0], ast.Name)
        ):
            continue
        look = next((part for part in walk(node.value) if _is_look(part)), None)
        if isinstance(look, ast.Call):
            yield node.targets[0].id, look, node


def _is_look(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS


def _sum_of(name: str, look: ast.Call, frame: Frame) -> ast.Call | None:
    """The first sum over ranks of what was looked up, where the name holds nothing else before it."""
    for entry in frame.project.knowledge(Entered).of(frame):
        node = entry.node
        if node.lineno <= look.lineno or not _SUMS.search(entry.name) or not node.args:
            continue
        if isinstance(node.args[0], ast.Name) and node.args[0].id == name and _adds(entry):
            between = [
                part
                for part in frame.scope.of(ast.Assign, ast.AugAssign)
                if look.lineno < part.lineno < node.lineno
                and any(as_code(target).split("[")[0] == name for target in _targets(part))
            ]
            return None if between else node
    return None


def _adds(entry: Collective) -> bool:
    return not any(
        keyword.arg == "op" and "SUM" not in as_code(keyword.value) for keyword in entry.node.keywords
    )


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _behind(look: ast.Call, frame: Frame) -> set[str]:
    """The names that decide which index is looked up: of the index, what it is made of, and what is set in it."""
    names = {part.id for given in look.args for part in walk(given) if isinstance(part, ast.Name)}
    for _ in range(3):
        for node in frame.scope.of(ast.Assign, ast.AugAssign):
            if node.lineno < look.lineno:
                roots = {as_code(target).split("[")[0] for target in _targets(node)}
                if roots & names:
                    names |= {part.id for part in walk(node) if isinstance(part, ast.Name)}
    return names


def _is_beside(mask: str, look: ast.Call, statement: ast.Assign) -> bool:
    """Whether the statement of the look-up has the mask, too: `F.embedding(...) * own`."""
    inside = {id(part) for part in walk(look)}
    return any(
        isinstance(part, ast.Name) and part.id == mask and id(part) not in inside
        for part in walk(statement.value)
    )


def _reads(frame: Frame, name: str, after: int, until: int) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and after < node.lineno <= until
        for node in frame.scope.nodes
    )
