"""W7511"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.data_reads import data_reads
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DataReadInTry(Rule):
    """`next(data_iterator)` stands in a `try` that goes on after the data ran out or could not be read."""

    code, symbol = "W7511", "data-read-in-try"
    message = "`%(call)s` stands in a try (line %(line)d) that goes on when it fails, on this rank alone"
    advice = "Call `%(call)s` without try/except, and let the error stop the job."
    why = (
        "The ranks of a job must take the same steps. One that swallows its error skips or repeats a micro-batch while "
        "its neighbours wait for its tensors, and the reason is lost."
    )
    symptom = Symptom.HANG
    runtime = "The neighbours wait in recv_forward until the NCCL watchdog ends the job, ten minutes later."
    limits = "Silent where every handler raises again, and behind a test such as tensor-parallel rank 0."
    guide = "3.2 forward_step_func"

    bad = """
    from functools import partial
    from losses import l2_loss


    def forward_step(data_iterator, model):
        try:
            field, label = next(data_iterator)  # [data-read-in-try]
        except StopIteration:
            field = label = None
        return model(field), partial(l2_loss, label)
    """
    good = """
    from functools import partial
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(l2_loss, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                for read in data_reads(script, step):
                    tried = read.where.tried
                    if (
                        tried is None
                        or read.where.is_open
                        or all(_raises(handler) for handler in tried.handlers)
                    ):
                        continue
                    name = read.scope.function.name if read.scope.function is not None else ""
                    evidence = (at(Site(read.scope.module, tried), tr("the try starts here")),)
                    place = place_of(read.scope.module, read.node)
                    yield self.finding(
                        place, object=name, evidence=evidence, call=ast.unparse(read.node), line=tried.lineno
                    )


def _raises(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    is_exit = (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and "exit" in ast.unparse(last.value.func)
    )
    return isinstance(last, ast.Raise) or is_exit
