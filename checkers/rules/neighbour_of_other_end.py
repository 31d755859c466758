"""E7771"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..spmd.peers import messages
from ..spmd.stage_paths import FIRST, LAST, Answers, reached
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MOVES = re.compile(r"\b(isend|irecv|send|recv|P2POp)\(")
_NEIGHBOUR = re.compile(r"get_pipeline_model_parallel_(prev|next)_rank|get_pp_(prev|next)_rank|is_pipeline_")
_NAMED = re.compile(r"get_\w*(prev|next)_rank")


class NeighbourOfOtherEnd(Rule):
    """A message to or from a neighbour stands under the test for the other end of the pipeline."""

    code, symbol = "E7771", "neighbour-of-other-end"
    message = "`%(text)s` reaches the %(side)s stage, and the test leaves out the %(left)s stage, not the %(end)s one"
    advice = "Ask for the %(end)s stage: it has no %(side)s stage. The %(left)s one has."
    why = (
        "The stages form a ring by their numbers: what is before the first stage is the last one. A message that the "
        "first stage sends backwards, or the last one forwards, reaches a stage that does not wait for it, and the "
        "stage that the test leaves out never sends or gets its own."
    )
    symptom = Symptom.HANG
    runtime = "Both ends wait for each other until the watchdog ends the job."
    limits = (
        "For torch's messages to or from the rank that Megatron names as the previous or next stage, under a test "
        "that lets the wrong end through and keeps the other one out."
    )
    guide = "beyond the guide"

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def send_gradient(grad):
        if not parallel_state.is_pipeline_last_stage():
            dist.send(grad, dst=parallel_state.get_pipeline_model_parallel_prev_rank())  # [neighbour-of-other-end]
    """
    good = bad.replace("is_pipeline_last_stage", "is_pipeline_first_stage").replace(
        "  # [neighbour-of-other-end]", ""
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MOVES, _NEIGHBOUR):
            for call, side in _neighbours(frame):
                wrong, other = (FIRST, LAST) if side == "prev" else (LAST, FIRST)
                if _runs(call, frame, wrong) and not _runs(call, frame, other):
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        text=as_code(call),
                        side=tr("previous") if side == "prev" else tr("next"),
                        end=tr("first") if side == "prev" else tr("last"),
                        left=tr("last") if side == "prev" else tr("first"),
                    )


def _neighbours(frame: Frame) -> Iterator[tuple[ast.Call, str]]:
    """Calls that send or receive, with the neighbour that they name."""
    for call, peer in messages(frame):
        held = frame.definitions(peer) if isinstance(peer, ast.Name) else []
        value = held[0][0] if len(held) == 1 else peer
        found = _NAMED.fullmatch(last_name(value.func)) if isinstance(value, ast.Call) else None
        if found is not None:
            yield call, found[1]


def _runs(call: ast.Call, frame: Frame, known: Answers) -> bool:
    """Whether a call may run on the stage with these answers."""
    parts = [
        getattr(statement, "iter", None) if hasattr(statement, "body") else statement
        for statement in reached(frame, known)
    ]
    return any(inner is call for part in parts if part is not None for inner in walk(part))
