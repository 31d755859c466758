"""E7726"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.training import Training
from ..rule import Rule, Symptom
from ..spmd.collectives import torch_name, written
from ..spmd.frames import Frame
from ..spmd.names import POINT_TO_POINT
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MAX_DEPTH = 3


class P2pInForwardStep(Rule):
    """A training step sends or receives by hand inside the pipeline schedule."""

    code, symbol = "E7726", "p2p-in-forward-step"
    message = "`%(call)s` runs inside `%(step)s`, which the pipeline schedule calls between its own sends and receives"
    advice = "Read the data on every stage that needs it instead of sending it."
    why = (
        "The stages run their steps at different times: while the first stage sends the label of micro-batch 0, the "
        "last one has not started it and waits for an activation that the first stage sends only after its step."
    )
    symptom = Symptom.HANG
    runtime = "The first micro-batch never ends; the watchdog kills the job."
    limits = (
        "Only in what is given to `pretrain` or named `forward_step`; helpers are followed three calls deep."
    )
    guide = "beyond the guide; 3.2 lets the last stage read the label itself"

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import mpu


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        if mpu.is_pipeline_first_stage():
            dist.send(label, dst=mpu.get_pipeline_model_parallel_last_rank())  # [p2p-in-forward-step]
        return model(field), label
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import mpu


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field if mpu.is_pipeline_first_stage() else None), label
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                if step.function is not None:
                    yield from self._check(Frame(analysis.project, step), step.function.name, None)

    def _check(self, frame: Frame, step: str, entry: tuple[Frame, ast.Call] | None) -> Iterator[Finding]:
        for node in frame.scope.nodes:
            if not isinstance(node, ast.Call):
                continue
            if torch_name(node, frame) in POINT_TO_POINT:
                where, shown = entry or (frame, node)
                text = tr("`%(node)s` sends or receives", node=written(node))
                yield self.finding(
                    place_of(where.module, shown),
                    object=step,
                    evidence=(Evidence(frame.module.display, node.lineno, text),),
                    call=written(shown),
                    step=step,
                )
            elif (inner := frame.callee(node)) is not None and inner.depth <= _MAX_DEPTH:
                yield from self._check(inner, step, entry or (frame, node))
