"""E7723"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..project.project import External
from ..rule import Rule, Symptom
from ..spmd.axes import last_name, size_axes, varies
from ..spmd.frames import Frame, functions
from ..spmd.gradient_norms import splits_models
from ..spmd.names import DP, MODEL, WORLD, Axes, text_of
from ..spmd.options import spread
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MODEL_PARALLEL = re.compile(
    r"model_parallel|parallel_state|\bmpu\b|(Column|Row)Parallel|tp_(rank|group|size)\("
)
_DEALS = re.compile(r"\w*Sampler\(|class \w*(Sampler|Dataset|Loader)")
_SPLITS = re.compile(r"tensor_model_parallel|pipeline_model_parallel|parallel_state|(Column|Row)Parallel")
_SAMPLES = re.compile(r"Sampler|Dataset|Loader")


class SamplerOverWorld(Rule):
    """A data sampler counts over all ranks although the model is split: the ranks of one replica read other samples."""

    code, symbol = "E7723", "sampler-over-world"
    message = "`%(what)s` deals samples by %(axes)s: the ranks of one model replica read different samples"
    advice = (
        "Give `num_replicas=parallel_state.get_data_parallel_world_size()` and "
        "`rank=parallel_state.get_data_parallel_rank()`."
    )
    why = (
        "The ranks of a tensor-parallel group compute parts of one sample, and the first and last stage read its input "
        "and its label. Samples are dealt to replicas, so only the data-parallel rank may choose them."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails: partial sums of different samples are added up, and most samples are never seen whole."
    limits = (
        "Only in files that speak of tensor or pipeline parallelism. A sampler of the tree is judged where it is "
        "named Sampler, Dataset or Loader and takes every n-th sample from its rank on, or is given one rank and the "
        "size of its group."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "How many samples an epoch has changes with it."

    bad = """
    from megatron.core import parallel_state
    from torch.utils.data import DataLoader, DistributedSampler


    def build_loader(dataset, micro_batch):
        sampler = DistributedSampler(dataset, shuffle=True)  # [sampler-over-world]
        return DataLoader(dataset, batch_size=micro_batch, sampler=sampler)


    def steps(dataset):
        return len(dataset) // parallel_state.get_data_parallel_world_size()
    """
    good = """
    from megatron.core import parallel_state
    from torch.utils.data import DataLoader, DistributedSampler


    def build_loader(dataset, micro_batch):
        sampler = DistributedSampler(
            dataset,
            num_replicas=parallel_state.get_data_parallel_world_size(),
            rank=parallel_state.get_data_parallel_rank(),
            shuffle=True,
        )
        return DataLoader(dataset, batch_size=micro_batch, sampler=sampler)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if not analysis.project.knowledge(splits_models):
            return
        for frame in functions(analysis.project, _DEALS, _MODEL_PARALLEL):
            for node in frame.scope.nodes:
                found = _torch_sampler(node, frame) or _given(node, frame)
                if found is None and _is_own(frame):
                    found = _strided(node, frame)
                if found is not None and isinstance(node, ast.expr):
                    what, axes, text = found
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.cls.name if frame.cls is not None else "",
                        evidence=(Evidence(frame.module.display, node.lineno, text),),
                        what=what,
                        axes=tr("the global rank")
                        if axes == WORLD
                        else tr("the %(axes)s rank", axes=text_of(axes)),
                        fix=_by_replica(node, frame),
                    )


def _is_own(frame: Frame) -> bool:
    cls: ClassFacts | None = frame.cls
    return cls is not None and bool(
        _SAMPLES.search(f"{cls.name} {' '.join(map(ast.unparse, cls.node.bases))}")
    )


def _torch_sampler(node: ast.AST, frame: Frame) -> tuple[str, Axes, str] | None:
    if not isinstance(node, ast.Call) or last_name(node.func) != "DistributedSampler":
        return None
    ref = frame.ref(node.func)
    given = spread(frame, node)
    if not isinstance(ref, External) or given is None:
        return None
    rank = given.get("rank", node.args[2] if len(node.args) > 2 else None)
    if rank is None or (isinstance(rank, ast.Constant) and rank.value is None):
        return "DistributedSampler", WORLD, tr("without `rank` it takes the global rank")
    held = frame.definitions(rank) if isinstance(rank, ast.Name) else []
    if any(varies(value, where) == DP for value, where in held):
        return None  # `rank = global_rank`, and that of the replica wherever the model is split
    return _judged("DistributedSampler", varies(rank, frame), rank)


def _given(node: ast.AST, frame: Frame) -> tuple[str, Axes, str] | None:
    """A sampler of the tree that is given one rank, and the size of the group it is of."""
    if not isinstance(node, ast.Call) or not last_name(node.func).endswith("Sampler"):
        return None
    if not isinstance(frame.ref(node.func), ClassFacts):
        return None
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    ranks = [(value, axes) for value in values if (axes := _plain_rank(value, frame))]
    sizes = [axes for value in values if (axes := size_axes(value, frame))]
    if len(ranks) != 1 or sizes != [ranks[0][1]]:
        return None
    if ranks[0][1] == WORLD and not frame.module.says(_SPLITS):
        return None
    return _judged(last_name(node.func), ranks[0][1], ranks[0][0])


def _plain_rank(node: ast.expr, frame: Frame) -> Axes | None:
    return varies(node, frame) if isinstance(node, ast.Name | ast.Attribute | ast.Call) else None


def _strided(node: ast.AST, frame: Frame) -> tuple[str, Axes, str] | None:
    """`order[rank::world]`, `range(rank, n, world)`"""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        start, step = node.slice.lower, node.slice.step
        share = _own_share(node.slice) if step is None else None
        if share is not None:
            return _judged(ast.unparse(node), varies(share, frame), share)
    elif isinstance(node, ast.Call) and last_name(node.func) == "range" and len(node.args) == 3:
        start, step = node.args[0], node.args[2]
    else:
        return None
    if start is None or step is None or size_axes(step, frame) is None:
        return None
    return _judged(ast.unparse(node), varies(start, frame), start)


def _own_share(cut: ast.Slice) -> ast.expr | None:
    """The rank of `start + rank * n : start + (rank + 1) * n`."""
    parts = [part for part in ast.walk(cut.lower) if isinstance(part, ast.BinOp)] if cut.lower else []
    for part in parts:
        if isinstance(part.op, ast.Mult) and cut.upper is not None:
            for one in (part.left, part.right):
                if "rank" in ast.unparse(one) and f"{ast.unparse(one)} + 1" in ast.unparse(cut.upper):
                    return one
    return None


def _judged(what: str, axes: Axes | None, rank: ast.expr) -> tuple[str, Axes, str] | None:
    if not axes or (axes & DP and axes != WORLD) or not axes & (MODEL | DP):
        return None
    return what, axes, tr("`%(rank)s` differs inside a model replica", rank=ast.unparse(rank))


def _by_replica(node: ast.expr, frame: Frame) -> Fix | None:
    """The data-parallel rank and size as arguments of a sampler that has neither."""
    given = {keyword.arg for keyword in node.keywords} if isinstance(node, ast.Call) else {"rank"}
    names = [
        name
        for name in frame.module.bindings
        if (frame.external(ast.Name(name)) or "").endswith(("parallel_state", ".mpu"))
    ]
    if not names or given & {"rank", "num_replicas"} or not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    rank, size = (f"{names[0]}.get_data_parallel_{word}()" for word in ("rank", "world_size"))
    return unsafe(insert_after(frame.module, node.args[0], f", num_replicas={size}, rank={rank}"))
