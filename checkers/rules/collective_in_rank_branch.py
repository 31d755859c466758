"""E7701"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import written
from ..spmd.divergence import Divergence, Divergences
from ..spmd.names import text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CollectiveInRankBranch(Rule):
    """Only some ranks of a group enter a collective, because it stands under a test on the own rank."""

    code, symbol = "E7701", "collective-in-rank-branch"
    message = (
        "`%(call)s` runs only where `%(test)s` %(holds)s, but every rank of its %(group)s group must enter it"
    )
    advice = "Move `%(call)s` out of the test at line %(line)s; keep inside what one rank alone does."
    why = (
        "A collective ends when the whole group has entered it. Ranks of one group that give different answers to the "
        "test do not meet in it."
    )
    symptom = Symptom.HANG
    runtime = "The ranks inside wait for the others until the watchdog kills the job, or pair with a later collective."
    limits = (
        "Silent where the test and the group have no axis in common (a data-parallel reduction on the last stage), "
        "where the other ranks enter the same collectives elsewhere in the function, and where they call something "
        "that cannot be followed. Helpers are followed four calls deep."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def report(loss):
        if parallel_state.get_tensor_model_parallel_rank() == 0:
            dist.all_reduce(loss, group=parallel_state.get_tensor_model_parallel_group())  # [collective-in-rank-branch]
            print(loss.item())
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def report(loss):
        dist.all_reduce(loss, group=parallel_state.get_tensor_model_parallel_group())
        if parallel_state.get_tensor_model_parallel_rank() == 0:
            print(loss.item())
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for found in analysis.project.knowledge(Divergences).of("branch"):
            call = found.item.node
            inside = any(call is node for part in _body(found.test) for node in ast.walk(part))
            yield self.finding(
                place_of(found.frame.module, call),
                object=name_of(found),
                evidence=evidence(found),
                call=written(call) if isinstance(call, ast.Call) else found.item.text,
                test=ast.unparse(found.test.test),
                holds=tr("holds") if inside else tr("does not hold"),
                group=text_of(found.group),
                line=found.test.lineno,
            )


def _body(test: ast.If | ast.IfExp) -> list[ast.AST]:
    return [*test.body] if isinstance(test.body, list) else [test.body]


def name_of(found: Divergence) -> str:
    """The function that holds the collective."""
    node = found.frame.scope.function
    return node.name if node is not None else ""


def evidence(found: Divergence) -> tuple[Evidence, ...]:
    """Where the ranks part, and the collective itself where it lies in a helper."""
    test = ast.unparse(found.test.test)
    steps = [
        Evidence(
            found.frame.module.display, found.test.lineno, tr("`%(test)s` differs between ranks", test=test)
        )
    ]
    inner, where = found.item.inner, found.item.where
    if inner is not None and inner.node is not found.item.node and where is not None:
        text = tr(
            "there `%(node)s` is a collective over %(group)s",
            node=written(inner.node),
            group=text_of(found.group),
        )
        steps.append(Evidence(where.module.display, inner.node.lineno, text))
    return tuple(steps)
