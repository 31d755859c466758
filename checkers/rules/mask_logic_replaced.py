"""E7220"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.mask_code import (
    callers_of,
    constant_masks,
    dicts_of_x,
    mask_function,
    reductions,
    tests_for_no_mask,
)
from ..project.originals import Originals
from ..project.project import Project
from ..project.stages import Stages
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
            for stage in family.stages:
                yield from self._stage(project, stage.cls, original, *computes)

    def _stage(
        self,
        project: Project,
        cls: ClassFacts,
        original: ClassFacts,
        module: ModuleFacts,
        computes: ast.FunctionDef,
    ) -> Iterator[Finding]:
        name = computes.name
        for method in cls.methods.values():
            for node in constant_masks(method) if method.name != "__init__" else ():
                text = tr(
                    "`%(targets)s` of `%(cls)s` is a constant, the original model computes it",
                    targets=ast.unparse(node.targets[0]),
                    cls=cls.name,
                )
                yield self._wrong(cls.module, node, cls, tr("%(text)s with `%(name)s`", text=text, name=name))
        mine = mask_function(project, cls)
        if mine is not None and mine[1].name == name and mine[1] is not computes:
            theirs, found = reductions(computes), reductions(mine[1])
            other = [node for key, node in found.items() if key not in theirs]
            if found.keys() != theirs.keys():
                text = tr(
                    "`%(name)s` of `%(cls)s` joins points in another way than `%(name)s` of `%(original)s`",
                    name=name,
                    cls=cls.name,
                    original=original.name,
                )
                at = Evidence(module.display, computes.lineno, tr("the original's is here"))
                yield self._wrong(mine[0], other[0] if other else mine[1], cls, text, at)
        calls = list(callers_of(project, cls, name))
        if calls and _all_guarded(project, original, name):
            methods = [method for method in cls.methods.values() if method.name != "__init__"]
            guards = [cls.module.text_of(method) for method in methods]
            if not any(
                map(tests_for_no_mask, [*guards, mine[0].text_of(mine[1]) if mine is not None else ""])
            ):
                text = tr(
                    "`%(cls)s` calls `%(name)s` without the original's branch for a mask that is None",
                    cls=cls.name,
                    name=name,
                )
                yield self._wrong(cls.module, calls[0][1], cls, text)
                return
        if not calls and all(masked for _, masked in dicts_of_x(original)):
            for made, masked in dicts_of_x(cls) if any(dicts_of_x(original)) else ():
                if not masked:
                    text = tr(
                        "`%(cls)s` hands no mask on where `%(original)s` gives the result of `%(name)s`",
                        cls=cls.name,
                        original=original.name,
                        name=name,
                    )
                    yield self._wrong(cls.module, made, cls, text)

    def _wrong(
        self, module: ModuleFacts, node: ast.AST, cls: ClassFacts, problem: str, *seen: Evidence
    ) -> Finding:
        return self.finding(place_of(module, node), object=cls.name, evidence=seen, problem=problem)


def _all_guarded(project: Project, original: ClassFacts, name: str) -> bool:
    """Whether every method of the original that computes a mask has a branch for none."""
    texts = [original.module.text_of(method) for method, _ in callers_of(project, original, name)]
    return bool(texts) and all(tests_for_no_mask(text) for text in texts)
