"""E7501"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import counted, tr
from ..project.boundary import Boundaries
from ..project.spelled import spelled_out, whole_number
from ..project.stages import Stage
from ..project.training import ShapeConfig, Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageShapesCount(Rule):
    """`stage_shapes` has another number of boundaries, or of tensors at one, than the stages have."""

    code, symbol = "E7501", "stage-shapes-count"
    message = "%(problem)s"
    advice = (
        "Write one entry for each boundary (stages - 1), and in it one shape for each tensor that crosses it."
    )
    why = (
        "The schedule allocates one receive buffer for each shape. A tensor without a shape is never received, and a "
        "shape without a tensor is waited for."
    )
    symptom = Symptom.HANG
    runtime = "AssertionError: Length of stage_shapes should be num_stages-1, or the receiver waits for ever"
    limits = "Silent where shapes are computed, and where what a stage returns or unpacks cannot be counted."
    guide = "3.1 model_provider; principle 11, trap 1"

    bad = """
    from megatron.core import mpu
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from torch import nn


    class Net_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            skip = self.embed(x)
            return self.encode(skip), skip


    class Net_stage1(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.decode(x) + skip


    def model_provider(pre_process=False, post_process=True):
        stages = {0: Net_stage0, 1: Net_stage1}
        shapes = PipelineTensorShapeConfig(
            num_stages=2,
            stage_shapes=[[[1, 4096, 192], [1, 4096, 192], [4]]],  # [stage-shapes-count]
        )
        return stages[mpu.get_pipeline_model_parallel_rank()](), shapes
    """
    good = bad.replace(", [4]]],  # [stage-shapes-count]", "]],")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for config in script.shape_configs:
                if config.boundaries is not None:
                    yield from self._check_config(analysis, script, config)

    def _check_config(
        self, analysis: Analysis, script: TrainingScript, config: ShapeConfig
    ) -> Iterator[Finding]:
        assert config.boundaries is not None
        count, stages = len(config.boundaries.elts), config.count
        if stages is not None and count != stages - 1:
            text = tr(
                "stage_shapes has %(count)s boundaries, and %(stages)s stages have %(boundaries)s",
                count=count,
                stages=stages,
                boundaries=stages - 1,
            )
            yield self.finding(place_of(script.module, config.boundaries), problem=text)
            return
        for rank, entry in enumerate(config.boundaries.elts):
            shapes = config.shapes(rank)
            if shapes is None:
                continue
            if shapes and all(whole_number(shape, config.shape_scope) is not None for shape in shapes):
                text = tr(
                    "the entry of boundary %(rank)s → %(following)s, %(entry)s, is one shape, not a list",
                    rank=rank,
                    following=rank + 1,
                    entry=ast.unparse(entry),
                )
                yield self.finding(place_of(script.module, entry), problem=text)
                continue
            if any(spelled_out(shape, config.shape_scope) is None for shape in shapes):
                continue
            for text, evidence in _differences(analysis, script, rank, len(shapes)):
                yield self.finding(place_of(script.module, entry), problem=text, evidence=(evidence,))


def _differences(
    analysis: Analysis, script: TrainingScript, rank: int, count: int
) -> Iterator[tuple[str, Evidence]]:
    family = script.family
    sender, receiver = (family.at(rank), family.at(rank + 1)) if family is not None else (None, None)
    said = tr(
        "boundary %(rank)s → %(following)s has %(shapes)s",
        rank=rank,
        following=rank + 1,
        shapes=_shapes(count),
    )
    if sender is not None:
        sent = _sent(analysis, sender)
        if sent is not None and sent[0] != count:
            place = Evidence(
                sender.cls.module.display,
                sent[1],
                tr("`%(cls)s` returns %(sent)s here", cls=sender.cls.name, sent=sent[0]),
            )
            yield (
                tr(
                    "%(said)s, and `%(cls)s` returns %(tensors)s",
                    said=said,
                    cls=sender.cls.name,
                    tensors=_tensors(sent[0]),
                ),
                place,
            )
            return
    unpacked = (
        analysis.project.knowledge(Boundaries).of(receiver).unpacked() if receiver is not None else None
    )
    if receiver is not None and unpacked is not None and len(unpacked[1]) != count:
        line = getattr(unpacked[0].node, "lineno", 1)
        place = Evidence(
            receiver.cls.module.display,
            line,
            tr("`%(cls)s` takes %(number)s apart here", cls=receiver.cls.name, number=len(unpacked[1])),
        )
        yield (
            tr(
                "%(said)s, and `%(cls)s` unpacks %(tensors)s",
                said=said,
                cls=receiver.cls.name,
                tensors=_tensors(len(unpacked[1])),
            ),
            place,
        )


def _sent(analysis: Analysis, stage: Stage) -> tuple[int, int] | None:
    """How many tensors a stage returns, and on which line; None where that is not the same on all ways."""
    found = analysis.project.knowledge(Boundaries).of(stage).sent()
    known = all(item.count > 1 or item.origin.is_tensor for item in found)
    counts = {item.count for item in found}
    return (found[0].count, getattr(found[0].node, "lineno", 1)) if known and len(counts) == 1 else None


def _shapes(count: int) -> str:
    return counted(count, "shape")


def _tensors(count: int) -> str:
    return counted(count, "tensor")
