"""E7744"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Edit, Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions
from ..tpstate.events import Site
from ..tpstate.fixes import remove_statement, statement_of, unsafe
from ..tpstate.parameter_events import WholeCollected
from ..tpstate.verdicts import at, by_site, evidence, first_certain, owner_name, place_of, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_TRIES = re.compile(r"warm|bench|test|profil|measure")
"""Functions that enter collectives to see them run."""

_REDUCES = re.compile(r"all_reduce|reduce_")


class ReducedTwice(Rule):
    """The same value is summed or gathered over the same ranks twice."""

    code, symbol = "E7744", "reduced-twice"
    message = "`%(call)s` %(how)s"
    advice = "Take one of the two out."
    why = "After the first sum every rank has the whole; the second one multiplies it by the number of ranks."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: values or gradients are too large by the number of ranks"
    limits = (
        "Two calls written alike, one behind the other in one block, with nothing between that changes the value; and "
        "Megatron's or vLLM's function for the whole TP group on what a row-parallel layer or a reduce of the same "
        "class made whole."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "One of the two may have been meant for another value."

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def whole(part):
        dist.all_reduce(part, group=parallel_state.get_tensor_model_parallel_group())
        dist.all_reduce(part, group=parallel_state.get_tensor_model_parallel_group())  # [reduced-twice]
        return part
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def whole(part):
        dist.all_reduce(part, group=parallel_state.get_tensor_model_parallel_group())
        return part
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _REDUCES, re.compile("parallel|distributed")):
            function = frame.scope.function
            if function is None or _TRIES.search(function.name):
                continue
            for block in _blocks(function):
                for first, second in _alike(block, frame):
                    yield self.finding(
                        place_of(frame.module, second),
                        object=function.name,
                        evidence=(at(Site(frame.module, first), tr("summed here")),),
                        fix=unsafe(_without(frame, second)),
                        call=as_code(second)[:80],
                        how=tr("stands twice: the sum of the ranks is summed over them again"),
                    )
        for events in by_site(analysis.log.events, WholeCollected):
            event = first_certain(events)
            chain = evidence(why(event.tensor)) if event is not None else ()
            if event is not None and _is_of_its_class(event, chain):
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=chain,
                    call=event.call,
                    how=tr("joins what every rank holds whole already: the result is tp times as wide")
                    if event.gathers
                    else tr("sums what every rank holds whole already: the result is tp times as large"),
                )


def _is_of_its_class(event: WholeCollected, chain: tuple[Evidence, ...]) -> bool:
    """Whether the value became whole in the class that collects it: between classes a kernel may write into it."""
    if event.owner is None or not chain:
        return bool(chain)
    node, last = event.owner.node, chain[-1]
    return last.path == event.owner.module.display and node.lineno <= last.line <= (node.end_lineno or 0)


def _without(frame: Frame, call: ast.Call) -> Edit | None:
    statement = statement_of(frame.module, call)
    return remove_statement(frame.module, statement) if statement is not None else None


def _blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in walk(function):
        if isinstance(node, ast.expr):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield block


def _alike(block: list[ast.stmt], frame: Frame) -> Iterator[tuple[ast.Call, ast.Call]]:
    calls = [
        (i, s.value) for i, s in enumerate(block) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
    ]
    for (i, first), (j, second) in pairwise(calls):
        if j != i + 1 or not first.args or as_code(first.func) != as_code(second.func):
            continue
        if as_code(first) != as_code(second):
            continue
        if _sums(first, frame):
            yield first, second


def _sums(call: ast.Call, frame: Frame) -> bool:
    """Whether a call is an all_reduce by sum, or a function of the tree that enters one and no other collective."""
    own = [entry for entry in frame.project.knowledge(Entered).of(frame) if entry.node is call]
    if not own:
        inner = frame.callee(call)
        own = frame.project.knowledge(Entered).of(inner) if inner is not None else []
    return bool(own) and all(
        entry.name == "all_reduce" and not re.search(r"\b(MAX|MIN|AVG)\b", as_code(entry.node))
        for entry in own
    )
