"""W7721"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions
from ..spmd.gradient_norms import gradient_norms, splits_models
from ..spmd.names import PP, TP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MEASURES = re.compile(r"clip_grad_norm_?\b|\.grad\b")
_MEGATRON = re.compile(r"megatron\.core|\bmpu\b|parallel_state\b|(Column|Row)ParallelLinear")
_OTHER = re.compile(
    r"DTensor|fully_shard|FullyShardedDataParallel|\bFSDP|\bfsdp|deepspeed|DeepSpeed|parallelize_module|DeviceMesh"
)


class LocalGradNorm(Rule):
    """Gradients of split parameters are clipped or measured by the norm of one rank's share."""

    code, symbol = "W7721", "local-grad-norm"
    message = "`%(what)s` measures the gradients of this rank alone: %(why)s"
    advice = (
        "Sum the squares of the parameters that this rank counts, all-reduce the sum over "
        "`parallel_state.get_model_parallel_group()`, and scale by its root."
    )
    why = (
        "With tensor or pipeline parallelism each rank holds a part of the gradient. A norm of that part differs from "
        "rank to rank, so replicated parameters are scaled differently and drift apart."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Nothing fails; after the first clipped step the ranks hold different norms, biases and embeddings."
    )
    limits = (
        "Only in files that use Megatron's groups or layers, and neither FSDP, DTensor nor DeepSpeed, whose "
        "gradients know their shards. A norm of one's own counts when no collective follows it in the function."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear


    def step(model, optimizer, loss):
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # [local-grad-norm]
        optimizer.step()
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import param_is_not_tensor_parallel_duplicate


    def step(model, optimizer, loss):
        loss.backward()
        own = [p.grad.pow(2).sum() for p in model.parameters() if param_is_not_tensor_parallel_duplicate(p)]
        total = torch.stack(own).sum()
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        for p in model.parameters():
            p.grad.mul_((1.0 / (total.sqrt() + 1e-6)).clamp(max=1.0))
        optimizer.step()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if not analysis.project.knowledge(splits_models):
            return  # groups for sequences or data alone: each rank has all gradients once they are summed
        for frame in functions(analysis.project, _MEASURES, _MEGATRON):
            for node, what, why in (*_clips(frame), *_sums(frame), *_roots(frame)):
                if not frame.module.says(_OTHER):
                    yield self._found(frame, node, what, why)

    def _found(self, frame: Frame, node: ast.AST, what: str, why: str) -> Finding:
        line: int = getattr(node, "lineno", 1)
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, line, why),),
            what=what,
            why=why,
        )


def _clips(frame: Frame) -> Iterator[tuple[ast.AST, str, str]]:
    for node in frame.scope.calls:
        if frame.called(node.func) in ("clip_grad_norm_", "clip_grad_norm"):
            if frame.external(node.func).startswith("torch.nn.utils"):
                yield node, ast.unparse(node.func), tr("nothing is summed over the ranks")


def _sums(frame: Frame) -> Iterator[tuple[ast.AST, str, str]]:
    for norm in gradient_norms(frame):
        if norm.group is None and norm.is_scaled:
            yield norm.node, norm.text, tr("nothing sums it over the model-parallel ranks")
        elif norm.group == TP and norm.uses_stages:
            yield norm.node, norm.text, tr("it is summed over the tensor-parallel ranks, not over the stages")
        elif norm.group == PP:
            yield norm.node, norm.text, tr("it is summed over the stages, not over the tensor-parallel ranks")


_GRADIENTS = re.compile(r"\.grad\b")
_ROOT = re.compile(r"\bsqrt\(|\*\* 0\.5|\*\* \(1(\.0)? / 2")


def _roots(frame: Frame) -> Iterator[tuple[ast.AST, str, str]]:
    """`total = total.sqrt()` before the sum over the ranks: roots do not add up to the root of the sum."""
    function = frame.scope.function
    if function is None or not _GRADIENTS.search(frame.module.text_of(function)):
        return
    for entry in frame.project.knowledge(Entered).of(frame):
        target = entry.node.args[0] if entry.name == "all_reduce" and entry.node.args else None
        if not isinstance(target, ast.Name) or re.search(r"\b(MAX|MIN|AVG)\b", ast.unparse(entry.node)):
            continue
        before = [
            node
            for node in frame.scope.bound.get(target.id, [])
            if getattr(node, "lineno", 10**9) < entry.node.lineno
        ]
        last = max(before, key=lambda node: node.lineno, default=None)
        if last is not None and _ROOT.search(ast.unparse(last)):
            yield last, ast.unparse(last)[:70], tr("its root is taken before it is summed over the ranks")
