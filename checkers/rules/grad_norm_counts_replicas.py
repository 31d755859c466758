"""W7722"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..spmd.gradient_norms import GradientNorm, gradient_norms, splits_models
from ..spmd.names import TP, WORLD, text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MEGATRON = re.compile(r"megatron\.core|\bmpu\b|parallel_state\b")
_SHARDED = re.compile(
    r"DTensor|fully_shard|FSDP|FullySharded|deepspeed|DeepSpeed|[Zz]ero[-_ ]?[123]|distributed_optimizer"
)


_SIZE = re.compile(r"/\s*[\w.]*(size|world|replicas)")


def _is_shared_out(norm: GradientNorm) -> bool:
    """Whether each square is divided by the number of ranks that hold it."""
    return _SIZE.search(ast.unparse(norm.node)) is not None


class GradNormCountsReplicas(Rule):
    """A gradient norm is summed over ranks that hold the same parameter, which then counts several times."""

    code, symbol = "W7722", "grad-norm-counts-replicas"
    message = "the sum over %(group)s counts %(what)s once on each rank that holds it: `%(text)s`"
    advice = (
        "Count a parameter where `param_is_not_tensor_parallel_duplicate(p)` holds, and sum over "
        "`parallel_state.get_model_parallel_group()`."
    )
    why = (
        "Norms, biases and routers are the same on all tensor-parallel ranks, and all of a model is on its replicas. A "
        "sum over those ranks takes them as often as there are ranks, so the norm is too large."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; gradients are clipped harder the more ranks there are, and the norm shown is too large."
    limits = (
        "Only where the squares of all parameters are added up in a loop without any test of the tensor-parallel "
        "mark or rank, helpers followed, or where the world is summed over in code that shards nothing over "
        "replicas."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def grad_norm(model):
        total = torch.zeros(())
        for p in model.parameters():
            if p.grad is not None:
                total += p.grad.float().pow(2).sum()
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())  # [grad-norm-counts-replicas]
        return total.sqrt()
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import param_is_not_tensor_parallel_duplicate


    def grad_norm(model):
        total = torch.zeros(())
        for p in model.parameters():
            if p.grad is not None and param_is_not_tensor_parallel_duplicate(p):
                total += p.grad.float().pow(2).sum()
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        return total.sqrt()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if not analysis.project.knowledge(splits_models):
            return
        for frame in functions(analysis.project, _MEGATRON):
            for norm in gradient_norms(frame):
                if norm.group is None or norm.call is None:
                    continue
                if norm.group & TP and not norm.is_filtered:
                    what = tr("a replicated parameter")
                elif norm.group == WORLD and not frame.module.says(_SHARDED) and not _is_shared_out(norm):
                    what = tr("every parameter of a replica")
                else:
                    continue
                group = text_of(norm.group)
                yield self.finding(
                    place_of(frame.module, norm.call.node),
                    object=frame.function_name,
                    evidence=(
                        Evidence(
                            frame.module.display,
                            norm.call.node.lineno,
                            tr("summed over the %(group)s ranks", group=group),
                        ),
                    ),
                    group=tr("the %(group)s ranks", group=group),
                    what=what,
                    text=norm.text,
                )
