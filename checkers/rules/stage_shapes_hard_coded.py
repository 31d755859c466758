"""W7529"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.stage_calls import build_call
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.stage_sizes import StageSizes
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SIZES = ("img_size", "image_size", "patch_size", "input_resolution", "resolution")
_LITERAL = 256  # smaller numbers are levels or channels of a fixed design


class StageShapesHardCoded(Rule):
    """A literal token count in `stage_shapes`, while the script takes the grid from a file or the command line."""

    code, symbol = "W7529", "stage-shapes-hard-coded"
    message = "%(number)d in stage_shapes fits one grid alone, and `%(size)s` is `%(source)s`"
    advice = (
        "Compute it from what the stage is built with, in place of %(number)d: `%(typed)s`, with what the layers in "
        "front of this boundary make of the grid."
    )
    why = "The first change of the grid in the configuration makes the receiver allocate another shape than is sent."
    symptom = Symptom.TRAP
    runtime = "After the change: the first receive never completes, or the tensors hold parts of others."
    limits = "Said once for each `stage_shapes`; numbers below 256 are taken for levels or channels of a fixed design."
    guide = "3.1 model_provider"

    bad = """
    from megatron.core import mpu
    from onescience.distributed.megatron.training import get_args
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, img_size, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)


    class Net_stage1(Net_stage0):
        def forward(self, x=None):
            return self.layer(self.input_tensor[0])


    def model_provider(pre_process=False, post_process=True):
        args = get_args()
        stages = {0: Net_stage0, 1: Net_stage1}
        model = stages[mpu.get_pipeline_model_parallel_rank()](img_size=args.img_size, dim=192)
        tokens = args.img_size[0] * args.img_size[1]
        shapes = PipelineTensorShapeConfig(
            num_stages=2,
            stage_shapes=[[[1, 1038240, 192]]],  # [stage-shapes-hard-coded]
        )
        return model, shapes
    """
    good = bad.replace("1038240", "tokens").replace("  # [stage-shapes-hard-coded]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for config in script.shape_configs:
                sizes = StageSizes(script, config)
                call = build_call(script)
                written = (
                    {keyword.arg: keyword.value for keyword in call[0].keywords} if call is not None else {}
                )
                size = next(
                    (name for name in _SIZES if isinstance(written.get(name), ast.Attribute | ast.Subscript)),
                    None,
                )
                number = next(_literals(sizes), None) if size is not None else None
                if size is not None and number is not None:
                    yield self.finding(
                        place_of(script.module, number),
                        number=number.value,
                        size=size,
                        source=ast.unparse(written[size]),
                        typed=_tokens(size, written),
                    )


def _tokens(size: str, written: dict[str | None, ast.expr]) -> str:
    """The token count of the grid that the stages are built for."""
    grid = ast.unparse(written[size])
    patch = written.get("patch_size")
    if patch is None or size == "patch_size":
        return f"{grid}[0] * {grid}[1]"
    return f"prod(-(-size // patch) for size, patch in zip({grid}, {ast.unparse(patch)}))"


def _literals(sizes: StageSizes) -> Iterator[ast.Constant]:
    """Token counts that are written out."""
    for shape in sizes.declared():
        for node in shape.node.elts[1:-1]:
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= _LITERAL:
                yield node
