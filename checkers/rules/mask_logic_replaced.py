"""E7220"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..project.mask_code import constant_masks, mask_function, tests_for_no_mask
from ..project.originals import Originals
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class MaskLogicReplaced(Rule):
    """A stage fills a mask with a constant, or lost a branch, where the original model computes the mask."""

    code, symbol = "E7220", "mask-logic-replaced"
    message = "%(problem)s"
    advice = "Copy the mask computation of the original model, its branch for `mask_full is None` included."
    why = (
        "Not sending the mask between stages does not mean changing it: a mask of ones treats land as ocean."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "land points are predicted as ocean, with no error"
    limits = (
        "Silent where no original model is found, where it computes no mask, and where the constant is "
        "written into afterwards."
    )
    guide = "Principle 11, trap 2: the mask logic stays"

    bad = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self, dim, mask_full=None):
            super().__init__()
            self.mask_full = mask_full
            self.layer = nn.Linear(dim, dim)

        def change_mask(self, mask_full, x):
            coarse = mask_full.reshape(x.shape[1], -1)
            return (coarse > 0.5).any(1)

        def forward(self, x):
            mask = None
            if self.mask_full is not None:
                mask = self.change_mask(self.mask_full, x)
            return self.layer(x), mask


    class Net_stage0(nn.Module):
        def __init__(self, dim, mask_full=None):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            self.mask_full = mask_full

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            mask = torch.ones(4, 4)  # [mask-logic-replaced]
            return self.layer(x) * mask
    """
    good = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self, dim, mask_full=None):
            super().__init__()
            self.mask_full = mask_full
            self.layer = nn.Linear(dim, dim)

        def change_mask(self, mask_full, x):
            coarse = mask_full.reshape(x.shape[1], -1)
            return (coarse > 0.5).any(1)

        def forward(self, x):
            mask = None
            if self.mask_full is not None:
                mask = self.change_mask(self.mask_full, x)
            return self.layer(x), mask


    class Net_stage0(nn.Module):
        def __init__(self, dim, mask_full=None):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            self.mask_full = mask_full

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def change_mask(self, mask_full, x):
            coarse = mask_full.reshape(x.shape[1], -1)
            return (coarse > 0.5).any(1)

        def forward(self, x):
            mask = None
            if self.mask_full is not None:
                mask = self.change_mask(self.mask_full, x)
            return self.layer(x) if mask is None else self.layer(x) * mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for family in project.knowledge(Stages).families:
            if not any("mask" in stage.cls.module.text for stage in family.stages):
                continue
            original = project.knowledge(Originals).of(family)
            computes = mask_function(project, original) if original is not None else None
            if original is None or computes is None:
                continue
            has_branch = tests_for_no_mask(original.text)
            for stage in family.stages:
                yield from self._stage(stage, computes, has_branch)

    def _stage(self, stage: Stage, computes: str, has_branch: bool) -> Iterator[Finding]:
        cls = stage.cls
        for method in cls.methods.values():
            for node in constant_masks(method) if method.name != "__init__" else ():
                text = f"`{ast.unparse(node.targets[0])}` of `{cls.name}` is a constant, the original model computes it"
                yield self.finding(
                    place_of(cls.module, node), object=cls.name, problem=f"{text} with `{computes}`"
                )
        if not has_branch or tests_for_no_mask(cls.text):
            return
        for method in cls.methods.values():
            for call in walk(method):
                if isinstance(call, ast.Call) and ast.unparse(call.func).rsplit(".", 1)[-1] == computes:
                    text = f"`{cls.name}` calls `{computes}` without the original's branch for a mask that is None"
                    yield self.finding(place_of(cls.module, call), object=cls.name, problem=text)
                    return
