"""E7703"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import written
from ..spmd.divergence import Divergences
from ..spmd.local_data import local_returns
from ..spmd.names import text_of
from ..tpstate.verdicts import place_of
from .collective_in_rank_branch import evidence, name_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CollectiveAfterLocalReturn(Rule):
    """Some ranks leave a function or loop before a collective that the others enter."""

    code, symbol = "E7703", "collective-after-local-return"
    message = (
        "ranks for which `%(test)s` %(word)s at line %(line)s and never enter `%(call)s`, but every rank of its "
        "%(group)s group must"
    )
    advice = "Enter `%(call)s` on every rank of the group: leave after it."
    why = "A collective ends when the whole group has entered it; a rank that has left the function does not come."
    symptom = Symptom.HANG
    runtime = "The ranks that went on wait until the watchdog kills the job."
    limits = (
        "A test counts when it asks for the own rank, or for local data whose count is itself reduced over the group "
        "after it: whoever reduces a count says that it differs. A raise ends the job and is not judged."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def finished(running):
        if not running:
            return 0
        count = torch.tensor(len(running))
        dist.all_reduce(count, group=parallel_state.get_data_parallel_group())  # [collective-after-local-return]
        return int(count)


    def save(state, path):
        if dist.get_rank() != 0:
            return
        torch.save(state, path)
        dist.barrier()  # [collective-after-local-return]
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def finished(running):
        count = torch.tensor(len(running))
        dist.all_reduce(count, group=parallel_state.get_data_parallel_group())
        return int(count)


    def save(state, path):
        if dist.get_rank() == 0:
            torch.save(state, path)
        dist.barrier()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for found in analysis.project.knowledge(Divergences).of("return"):
            call = found.item.node
            yield self.finding(
                place_of(found.frame.module, call),
                object=name_of(found),
                evidence=evidence(found),
                test=ast.unparse(found.test.test),
                word=_leaves(found.leaves),
                call=written(call) if isinstance(call, ast.Call) else found.item.text,
                group=text_of(found.group),
                line=found.leaves.lineno if found.leaves is not None else found.test.lineno,
            )
        for local in local_returns(analysis.project):
            module = local.frame.module
            node = local.frame.scope.function
            counted = tr(
                "what is reduced is counted from `%(data)s`: it differs between ranks", data=local.data
            )
            yield self.finding(
                place_of(module, local.call.node),
                object=node.name if node is not None else "",
                evidence=(
                    Evidence(
                        module.display,
                        local.test.lineno,
                        tr("`%(data)s` decides who leaves", data=local.data),
                    ),
                    Evidence(module.display, local.call.node.lineno, counted),
                ),
                test=ast.unparse(local.test.test),
                word=_leaves(local.test.body[-1]),
                call=written(local.call.node),
                group=text_of(local.call.axes) if local.call.axes else tr("own"),
                line=local.test.body[-1].lineno,
            )


def _leaves(node: ast.stmt | None) -> str:
    return {ast.Continue: "continue", ast.Break: "break"}.get(type(node), "return")  # type: ignore[arg-type]
