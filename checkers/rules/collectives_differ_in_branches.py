"""E7702"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.divergence import Divergences
from ..spmd.names import text_of
from ..tpstate.verdicts import place_of
from .collective_in_rank_branch import evidence, name_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CollectivesDifferInBranches(Rule):
    """The two sides of a test on the own rank enter collectives of one group that do not pair."""

    code, symbol = "E7702", "collectives-differ-in-branches"
    message = (
        "the sides of `%(test)s` enter different collectives of the %(group)s group: `%(name)s` (line %(line)s) has no "
        "partner on the other side"
    )
    advice = "Enter the same collectives in the same order on both sides, or once after the test."
    why = "Collectives of a group pair by order alone: the n-th call of one rank meets the n-th call of every other."
    symptom = Symptom.HANG
    runtime = "A hang, or tensors that arrive in the wrong variables."
    limits = "Silent where a side loops over collectives, or calls something that cannot be followed."
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def share(batch, shape):
        group = parallel_state.get_tensor_model_parallel_group()
        source = parallel_state.get_tensor_model_parallel_src_rank()
        if parallel_state.get_tensor_model_parallel_rank() == 0:  # [collectives-differ-in-branches]
            field, mask = batch
            dist.broadcast(field, source, group=group)
            dist.broadcast(mask, source, group=group)
        else:
            field, mask = torch.empty(shape), None
            dist.broadcast(field, source, group=group)
        return field, mask
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def share(batch, shape):
        group = parallel_state.get_tensor_model_parallel_group()
        source = parallel_state.get_tensor_model_parallel_src_rank()
        if parallel_state.get_tensor_model_parallel_rank() == 0:
            field, mask = batch
            dist.broadcast(field, source, group=group)
            dist.broadcast(mask, source, group=group)
        else:
            field, mask = torch.empty(shape), torch.empty(shape)
            dist.broadcast(field, source, group=group)
            dist.broadcast(mask, source, group=group)
        return field, mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for found in analysis.project.knowledge(Divergences).of("branches"):
            yield self.finding(
                place_of(found.frame.module, found.test),
                object=name_of(found),
                evidence=evidence(found),
                test=ast.unparse(found.test.test),
                group=text_of(found.group),
                name=found.item.text,
                line=getattr(found.item.node, "lineno", found.test.lineno),
            )
