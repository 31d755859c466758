"""E7221"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..files import disk
from ..finding import Finding
from ..language import tr
from ..project.mask_code import TENSOR_ONLY, first_use, loads_path, mask_parameter, stays_array
from ..project.originals import Originals
from ..project.project import Project
from ..project.stage_classes import parameters
from ..project.stages import Family, Stage, Stages
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class MaskPathNotLoaded(Rule):
    """A mask that may be a path is used as an array."""

    code, symbol = "E7221", "mask-path-not-loaded"
    message = "`%(name)s` may be a path (%(reason)s), but `%(cls)s` uses it as an array without loading it"
    advice = (
        "Write `if isinstance(%(name)s, str): %(name)s = np.load(%(name)s)` first, in every stage that uses "
        "it."
    )
    why = (
        "The configuration names a file. A text can be indexed too, so the error comes late and says little."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: string indices must be integers"
    limits = (
        "A path is known by the default, the annotation, a file name in the YAML files beside the training "
        "script, or the loading that another stage or the original model does."
    )
    guide = "Principle 11, trap 3: mask_full may be a path"

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim, mask_full="dataset/mask.npy"):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            self.mask_full = mask_full

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            mask = self.mask_full[:4, :4]  # [mask-path-not-loaded]
            return self.layer(x) * mask
    """
    good = """
    import numpy as np
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim, mask_full="dataset/mask.npy"):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            if isinstance(mask_full, str):
                mask_full = np.load(mask_full)
            self.mask_full = mask_full

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            mask = self.mask_full[:4, :4]
            return self.layer(x) * mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for stage in project.knowledge(Stages):
            parameter = mask_parameter(stage.cls)
            if parameter is not None and stays_array(project, stage.cls):
                used = first_use(project, stage.cls, parameter.arg, TENSOR_ONLY)
                if used is not None:
                    yield self.finding(
                        place_of(used[0], used[1]),
                        object=stage.cls.name,
                        message="`%(name)s` is what `np.load` returns, and `%(cls)s` uses it as a tensor",
                        advice="Write `%(name)s = torch.tensor(%(name)s, dtype=torch.float32)` behind the loading.",
                        name=parameter.arg,
                        cls=stage.cls.name,
                    )
            if parameter is None or loads_path(project, stage.cls):
                continue
            used = first_use(project, stage.cls, parameter.arg)
            reason = _reason(project, stage, parameter) if used is not None else None
            if used is not None and reason is not None:
                yield self.finding(
                    place_of(used[0], used[1]),
                    object=stage.cls.name,
                    name=parameter.arg,
                    reason=reason,
                    cls=stage.cls.name,
                )


def _reason(project: Project, stage: Stage, parameter: ast.arg) -> str | None:
    """Why the mask may be a path."""
    init = stage.cls.methods["__init__"]
    default = parameters(init).get(parameter.arg)
    if isinstance(default, ast.Constant) and isinstance(default.value, str):
        return tr("its default is %(value)s", value=repr(default.value))
    if parameter.annotation is not None and re.search(
        r"\b(str|Path|PathLike)\b", ast.unparse(parameter.annotation)
    ):
        return tr("it is annotated %(annotation)s", annotation=ast.unparse(parameter.annotation))
    for other in stage.family.stages:
        if other is not stage and loads_path(project, other.cls):
            return tr("`%(cls)s` loads it from a path", cls=other.cls.name)
    original = project.knowledge(Originals).of(stage.family)
    if original is not None and mask_parameter(original) is not None and loads_path(project, original):
        return tr("the original `%(original)s` loads it from a path", original=original.name)
    return _in_yaml(stage.family)


def _in_yaml(family: Family) -> str | None:
    for found in family.maps:
        folder = found.module.path.parent
        for path in sorted([*disk.matching(folder, "*.y*ml"), *disk.matching(folder, "conf*/*.y*ml")])[:8]:
            try:
                text = disk.read(path).decode()
            except (OSError, ValueError):
                continue
            value = re.search(r"(?m)^\s*(?:mask|mask_full|mask_path)\s*:\s*(\S+\.(?:npy|npz|nc|pt|h5))", text)
            if value:
                return tr("%(path)s says %(value)s", path=path.name, value=value[1])
    return None
