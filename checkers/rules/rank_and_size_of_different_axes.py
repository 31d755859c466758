"""E7751"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.axes import last_name, size_axes, varies
from ..spmd.frames import Frame, functions
from ..spmd.gradient_norms import splits_models
from ..spmd.names import CP, DP, WORLD, Axes, text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RANKS = re.compile(r"rank")
_SIZES = re.compile(r"world_size|_size\(|\.size\(")
_PIPELINING = "torch.distributed.pipelining"
_RANK_NAME = re.compile(r"(\w+_)?rank(_id)?")
_SIZE_NAME = re.compile(r"(\w+_)?(world|world_size|size|num_shards|num_replicas|num_parts|shards)")


class RankAndSizeOfDifferentAxes(Rule):
    """The rank of one group is used with the size of another."""

    code, symbol = "E7751", "rank-and-size-of-different-axes"
    message = "`%(text)s` takes the rank of the %(rank)s group and the size of the %(size)s group"
    advice = "Take both from one group."
    why = (
        "A rank picks one of as many parts as its own group has ranks. With the size of another group ranks take the "
        "same part, or parts that do not exist."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails where the groups happen to be of one size; elsewhere parts are taken twice, or not at all."
    limits = (
        "For strides `x[rank::size]`, products `rank * (n // size)`, `PipelineStage`, and calls of the tree's own "
        "functions whose parameters are named so; only where the library's functions name both axes."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state


    def own_layers(layers):
        stages = parallel_state.get_pipeline_model_parallel_world_size()
        per_stage = len(layers) // stages
        first = parallel_state.get_tensor_model_parallel_rank() * per_stage  # [rank-and-size-of-different-axes]
        return layers[first : first + per_stage]
    """
    good = """
    from megatron.core import parallel_state


    def own_layers(layers):
        stages = parallel_state.get_pipeline_model_parallel_world_size()
        per_stage = len(layers) // stages
        first = parallel_state.get_pipeline_model_parallel_rank() * per_stage
        return layers[first : first + per_stage]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _RANKS, _SIZES):
            for node in frame.scope.of(*_PAIRED):
                for rank, size in _pairs(node, frame):
                    axes, other = _rank(rank, frame), size_axes(size[0], size[1])
                    if _differ(axes, other, frame) and axes and other and isinstance(node, ast.expr):
                        yield self.finding(
                            place_of(frame.module, node),
                            object=frame.function_name,
                            text=ast.unparse(node)[:80],
                            rank=text_of(axes),
                            size=text_of(other),
                        )
                        break


def _differ(axes: Axes | None, other: Axes | None, frame: Frame) -> bool:
    """Whether the groups have nothing in common; all ranks are no replicas where the model is split over some."""
    if not axes or not other:
        return False
    one_is_all = WORLD in (axes, other) and axes != other
    return (
        not axes & other
        or {axes, other} == {DP, DP | CP}
        or (one_is_all and frame.project.knowledge(splits_models))
    )


def _rank(node: ast.expr, frame: Frame) -> Axes | None:
    """The axes of a plain rank, no number made of one."""
    return varies(node, frame) if isinstance(node, ast.Name | ast.Attribute | ast.Call) else None


_PAIRED = (ast.Subscript, ast.BinOp, ast.Call)


def _pairs(node: ast.AST, frame: Frame) -> Iterator[tuple[ast.expr, tuple[ast.expr, Frame]]]:
    """What is used as a rank, and as the size that belongs to it, by one expression."""
    if isinstance(node, ast.Subscript):
        part = node.slice
        if isinstance(part, ast.Slice) and part.lower is not None and part.step is not None:
            yield part.lower, (part.step, frame)
        elif isinstance(part, ast.expr) and (count := _parts(node.value, frame)) is not None:
            yield part, (count, frame)
    elif isinstance(node, ast.BinOp) and not _is_divided_twice(node, frame):
        for rank, share in ((node.left, node.right), (node.right, node.left)):
            divisor = _divisor(share, frame) if isinstance(node.op, ast.Mult) else None
            if divisor is not None:
                yield rank, divisor
    elif (
        isinstance(node, ast.Call)
        and last_name(node.func).endswith("PipelineStage")
        and frame.external(node.func).startswith(_PIPELINING)
    ):
        index, count = frame.argument(node, "stage_index", 1), frame.argument(node, "num_stages", 2)
        if index is not None and count is not None:
            yield index, (count, frame)
    elif isinstance(node, ast.Call):
        inner = frame.callee(node)
        given = (
            {name: value for name, (value, where) in inner.given.items() if where is frame} if inner else {}
        )
        ranks = [value for name, value in given.items() if _RANK_NAME.fullmatch(name)]
        sizes = [value for name, value in given.items() if _SIZE_NAME.fullmatch(name)]
        if len(ranks) == len(sizes) == 1:
            yield ranks[0], (sizes[0], frame)


def _is_divided_twice(node: ast.BinOp, frame: Frame) -> bool:
    """`rank * (n // ep // tp)`: a stride over ranks of two axes is counted in more than one product."""
    for part in (node.left, node.right):
        found = frame.definitions(part) if isinstance(part, ast.Name | ast.Attribute) else [(part, frame)]
        for made, _ in found:
            if isinstance(made, ast.BinOp) and isinstance(made.op, ast.FloorDiv):
                if isinstance(made.left, ast.BinOp) and isinstance(made.left.op, ast.FloorDiv):
                    return True
    return False


def _parts(node: ast.expr, frame: Frame) -> ast.expr | None:
    """How many parts a tensor is cut into: `x.chunk(n)`, `torch.chunk(x, n)`, `torch.tensor_split(x, n)`."""
    if not isinstance(node, ast.Call) or frame.called(node.func) not in ("chunk", "tensor_split"):
        return None
    return frame.argument(node, "chunks", 1 if frame.external(node.func).startswith("torch") else 0)


def _divisor(node: ast.expr, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """What a share was divided by: `n // size`, also by name."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return node.right, frame
    found = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else []
    if len(found) == 1 and isinstance(found[0][0], ast.BinOp) and isinstance(found[0][0].op, ast.FloorDiv):
        return found[0][0].right, found[0][1]
    return None
