"""E7502"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import listed, tr
from ..project.boundary import Sent
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.stage_sizes import Declared, Made, StageSizes
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageShapesMismatch(Rule):
    """A shape in `stage_shapes` differs from that of the tensor the stage sends."""

    code, symbol = "E7502", "stage-shapes-mismatch"
    message = "tensor %(index)d of %(boundaries)s: declared %(declared)s, %(contradiction)s"
    advice = "Compute the entry from the same numbers that the stage is built with."
    why = (
        "The receiver allocates what the shape says. With fewer elements than are sent it gets a part, with more it "
        "waits; where the counts agree by chance, the values land in the wrong place."
    )
    symptom = Symptom.HANG
    runtime = (
        "The first receive never completes, or RuntimeError: shape '[1, 131040, 512]' is invalid for input"
    )
    limits = (
        "Compares what can be computed: pass-through tensors with what came in, a tensor of listed numbers with how "
        "many they are, others with the resolution and the dim that the last submodule was built with."
    )
    guide = "3.1 model_provider"

    bad = """
    from math import ceil, prod
    from megatron.core import mpu
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from fusers import Fuser
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, img_size, patch_size, dim):
            super().__init__()
            grid = (ceil(img_size[0] / patch_size), ceil(img_size[1] / patch_size))
            self.layer1 = Fuser(dim=dim, input_resolution=grid, depth=2)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer1(x)


    class Net_stage1(Net_stage0):
        def forward(self, x=None):
            return self.layer1(self.input_tensor[0])


    def model_provider(pre_process=False, post_process=True):
        stages = {0: Net_stage0, 1: Net_stage1}
        model = stages[mpu.get_pipeline_model_parallel_rank()](img_size=(721, 1440), patch_size=4, dim=192)
        rows = 721 // 4
        shapes = PipelineTensorShapeConfig(
            num_stages=2,
            stage_shapes=[[[1, rows * 360, 192]]],  # [stage-shapes-mismatch]
        )
        return model, shapes
    """
    good = bad.replace("rows = 721 // 4", "rows = ceil(721 / 4)").replace("  # [stage-shapes-mismatch]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for config in script.shape_configs:
                sizes = StageSizes(script, config)
                shapes = {(shape.boundary, shape.index): shape for shape in sizes.declared()}
                found = [wrong for shape in shapes.values() for wrong in _wrong_of(sizes, shape, shapes)]
                for group in _with_one_cause(found):
                    yield self._said(sizes, group)

    def _said(self, sizes: StageSizes, group: list[_Wrong]) -> Finding:
        """One finding for a shape that is wrong alike at several boundaries."""
        first = group[0]
        crossed = [
            f"{wrong.shape.boundary} → {wrong.shape.boundary + 1}"
            for wrong in sorted(group, key=lambda wrong: wrong.shape.boundary)
        ]
        boundaries = (
            tr("boundary %(boundary)s", boundary=crossed[0])
            if len(crossed) == 1
            else tr("the boundaries %(boundaries)s", boundaries=", ".join(crossed))
        )
        return self.finding(
            place_of(sizes.script.module, first.shape.node),
            evidence=first.evidence,
            index=first.shape.index + 1,
            boundaries=boundaries,
            declared=_text(first.shape),
            contradiction=first.contradiction,
        )


@dataclass(frozen=True, eq=False)
class _Wrong:
    """One declared shape that what is sent contradicts; `source` is the boundary and place where it was sent first."""

    shape: Declared
    contradiction: str
    evidence: tuple[Evidence, ...]
    source: tuple[int, int]


def _with_one_cause(found: list[_Wrong]) -> list[list[_Wrong]]:
    """Shapes written once for several boundaries, and those of one tensor that passes through."""
    groups: list[list[_Wrong]] = []
    for wrong in found:
        for group in groups:
            first = group[0]
            is_same = wrong.source == first.source and wrong.shape.sizes == first.shape.sizes
            if wrong.shape.index == first.shape.index and (wrong.shape.node is first.shape.node or is_same):
                group.append(wrong)
                break
        else:
            groups.append([wrong])
    return groups


def _wrong_of(
    sizes: StageSizes, shape: Declared, shapes: dict[tuple[int, int], Declared]
) -> Iterator[_Wrong]:
    found = sizes.source(shape.boundary, shape.index)
    if found is None:
        return
    boundary, index, sent = found
    passed = (
        tr(", which passes through from boundary %(boundary)s", boundary=boundary)
        if boundary < shape.boundary
        else ""
    )
    written = _written(sent)
    first = shapes.get((boundary, index)) if passed else None
    if written is not None and len(shape.sizes) == 1 and shape.sizes[0] not in (None, len(written.elts)):
        if first is not None and first.sizes == shape.sizes:
            return  # said where it is sent first
        text = tr("and it is made of %(count)s numbers%(passed)s", count=len(written.elts), passed=passed)
        made_here = Evidence(sent.seen.module.display, written.lineno, tr("they stand here"))
        yield _Wrong(shape, text, (made_here,), (boundary, index))
        return
    made = sizes.made(boundary, sent)
    if made is not None and len(shape.sizes) > 2:
        wrong = _wrong(shape, made)
        if wrong:
            text = tr(
                "and `%(by)s` makes %(wrong)s%(passed)s",
                by=made.by,
                wrong=listed(" of ", wrong),
                passed=passed,
            )
            built = Evidence(made.path, made.line, tr("`%(by)s` is built here", by=made.by))
            yield _Wrong(shape, text, (built,), (boundary, index))
            return
    before = shapes.get((boundary, index)) if passed else None
    if before is None or (made is not None and None not in (made.tokens, made.width)):
        return
    if any(
        a is not None and b is not None and a != b for a, b in zip(shape.sizes, before.sizes, strict=False)
    ):
        text = tr(
            "and it passes through, so that it still is %(before)s (line %(line)s)",
            before=_text(before),
            line=before.node.lineno,
        )
        step = tr(
            "tensor %(index)s of boundary %(boundary)s → %(following)s",
            index=index + 1,
            boundary=boundary,
            following=boundary + 1,
        )
        earlier = Evidence(sizes.script.module.display, before.node.lineno, step)
        yield _Wrong(shape, text, (earlier,), (boundary, index))


def _wrong(shape: Declared, made: Made) -> list[str]:
    """The tokens and channels that a declared shape should have; of more than three axes, in either order."""
    found: list[list[str]] = []
    orders = [(shape.sizes[1:-1], shape.sizes[-1]), (shape.sizes[2:], shape.sizes[1])]
    for grid, width in orders[: 1 if len(shape.sizes) == 3 else 2]:
        said = None if None in grid else prod(size for size in grid if size is not None)
        found.append(
            [
                f"{wanted} {unit}"
                for declared, wanted, unit in ((said, made.tokens, "tokens"), (width, made.width, "channels"))
                if declared is not None and wanted is not None and declared != wanted
            ]
        )
    return min(found, key=len)


def _written(sent: Sent) -> ast.List | ast.Tuple | None:
    """The numbers of a tensor that is a list of them: `torch.tensor([B, H, W])`."""
    node = sent.origin.node
    if (
        sent.origin.how != "tensor"
        or not sent.origin.constant
        or not isinstance(node, ast.Call)
        or not node.args
    ):
        return None
    numbers = node.args[0]
    is_flat = isinstance(numbers, ast.List | ast.Tuple) and not any(
        isinstance(entry, ast.Starred | ast.List | ast.Tuple) for entry in numbers.elts
    )
    return numbers if is_flat and isinstance(numbers, ast.List | ast.Tuple) else None


def _text(shape: Declared) -> str:
    parts = [
        str(size) if size is not None else ast.unparse(node)
        for size, node in zip(shape.sizes, shape.node.elts, strict=True)
    ]
    return f"[{', '.join(parts)}]"
