"""E7503"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..files import disk
from ..finding import Finding, Fix
from ..language import tr
from ..project.launch import launches
from ..project.spelled import spelled_out, whole_number
from ..project.training import ShapeConfig, Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FLAG = re.compile(r"micro[-_]batch[-_]size[\"'\s=:,]+(\d+)")
_LARGEST = 256  # a larger first number is a token or node count: that layout has no batch in front


class StageShapesBatch(Rule):
    """A shape in `stage_shapes` has another batch size than the micro-batch."""

    code, symbol = "E7503", "stage-shapes-batch"
    message = "the batch entry of %(shape)s is %(batch)d, and the micro-batch size is %(size)d"
    advice = "Write %(size)d in place of %(batch)d, or take it from the arguments: `args.micro_batch_size`."
    why = "The receiver allocates what the shape says; the sender sends what it has. NCCL does not compare the two."
    symptom = Symptom.HANG
    runtime = "The first receive never completes, or the tensors hold parts of others."
    limits = (
        "The micro-batch size is 1 unless args_defaults or a file beside the script gives --micro-batch-size. Silent "
        "for shapes of less than three entries, and where the first entry is no small literal number."
    )
    guide = "1.4 and 3.1: the batch size is 1 in the pipeline"
    fix_kind = "unsafe"
    fix_note = (
        "The micro-batch size is read from the settings that are seen; another script may give another."
    )

    bad = """
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    shapes = PipelineTensorShapeConfig(
        num_stages=2,
        stage_shapes=[[[1, 4096, 192], [4, 4096, 192]]],  # [stage-shapes-batch]
    )
    """
    good = """
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    shapes = PipelineTensorShapeConfig(
        num_stages=2,
        stage_shapes=[[[1, 4096, 192], [1, 4096, 192]]],
    )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for config in script.shape_configs:
                wrong: dict[int, list[ast.expr]] = {}
                sizes, started = _micro_batches(script), _started(script)
                for shape, batch in _batches(config):
                    is_known = batch > 1 or (len(started) == 1 and 1 not in started)
                    if is_known and batch <= _LARGEST and batch not in sizes:
                        wrong.setdefault(batch, []).append(shape)
                for shape, entry in _whole_steps(config):
                    yield self.finding(
                        place_of(script.module, shape),
                        fix=unsafe(replace(script.module, entry, _micro(entry)))
                        if entry in walk(shape)
                        else None,
                        message="the batch entry of %(shape)s is `%(batch)s`, the samples of a whole step; what "
                        "crosses is one micro-batch",
                        advice="Take the size of a micro-batch: `%(micro)s`.",
                        shape=ast.unparse(shape),
                        batch=ast.unparse(entry),
                        micro=_micro(entry),
                    )
                for batch, shapes in wrong.items():
                    shown, more = ast.unparse(shapes[0]), len(shapes) - 1
                    yield self.finding(
                        place_of(script.module, shapes[0]),
                        fix=_resized(script.module, shapes, min(sizes)),
                        shape=tr("%(shape)s, as in %(number)s more", shape=shown, number=more)
                        if more
                        else shown,
                        batch=batch,
                        size=min(sizes),
                    )


def _resized(module: ModuleFacts, shapes: list[ast.expr], size: int) -> Fix | None:
    """The batch entry of each shape, where all of them are written out."""
    firsts = [shape.elts[0] if isinstance(shape, ast.List | ast.Tuple) else None for shape in shapes]
    return unsafe(
        *(replace(module, first, str(size)) if isinstance(first, ast.Constant) else None for first in firsts)
    )


def _batches(config: ShapeConfig) -> Iterator[tuple[ast.expr, int]]:
    """Shapes with a batch entry that is a literal number."""
    boundaries = len(config.boundaries.elts) if config.boundaries is not None else 0
    for boundary in range(boundaries):
        for node in config.shapes(boundary) or ():
            shape = spelled_out(node, config.shape_scope)
            if shape is None or len(shape.elts) < 3:
                continue
            batch, second = (whole_number(entry, config.shape_scope) for entry in shape.elts[:2])
            if batch is not None and (second is None or second >= batch):
                yield node, batch


def _whole_steps(config: ShapeConfig) -> Iterator[tuple[ast.expr, ast.Attribute]]:
    """The first shape whose batch entry is the size of a global batch, with what is written for it."""
    for boundary in range(len(config.boundaries.elts) if config.boundaries is not None else 0):
        for node in config.shapes(boundary) or ():
            shape = spelled_out(node, config.shape_scope)
            entry = shape.elts[0] if shape is not None and len(shape.elts) > 2 else None
            if isinstance(entry, ast.Name):
                entry = config.shape_scope.value(entry.id)
            if isinstance(entry, ast.Attribute) and entry.attr == "global_batch_size":
                yield node, entry
                return


def _micro(entry: ast.Attribute) -> str:
    return f"{ast.unparse(entry.value)}.micro_batch_size"


def _micro_batches(script: TrainingScript) -> set[int]:
    """Micro-batch sizes that the script and the files beside it set; 1 where none does."""
    texts = [script.module.text]
    for pattern in ("*.sh", "*.slurm", "*.yaml", "conf/*.yaml", "scripts/*.sh"):
        texts += [_text(path) for path in disk.matching(script.module.path.parent, pattern)[:20]]
    return {int(found) for text in texts for found in _FLAG.findall(text)} or {1}


def _started(script: TrainingScript) -> set[int]:
    """The micro-batch sizes that the shell scripts of this training script give it."""
    found = {launch.number("micro-batch-size"): None for launch in launches(script)}
    return {size for size in found if size is not None} if None not in found else set()


def _text(path: Path) -> str:
    try:
        return disk.read(path).decode(errors="ignore")
    except OSError:
        return ""
