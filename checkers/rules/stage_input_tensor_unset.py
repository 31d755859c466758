"""W7239"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.stage_classes import attributes_set, constructor, hidden_base
from ..project.stages import Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageInputTensorUnset(Rule):
    """The constructor of a stage does not set `input_tensor`."""

    code, symbol = "W7239", "stage-input-tensor-unset"
    message = "stage `%(cls)s` does not set `self.input_tensor` in its constructor"
    advice = "Write `self.input_tensor = None` in `__init__`."
    why = (
        "Megatron's schedule calls `set_input_tensor` before each forward, so training runs. A test, an export or an "
        "evaluation that calls the stage itself finds no attribute instead of None."
    )
    symptom = Symptom.TRAP
    runtime = "AttributeError: 'Net_stage1' object has no attribute 'input_tensor', outside of the schedule"
    limits = (
        "Classes named or mapped as stages, or that build another part of the model on each. Silent where a base class "
        "outside the tree may set the attribute."
    )
    guide = "1.2: required attributes of a stage"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):  # [stage-input-tensor-unset]
            super().__init__()
            self.pre_process = self.share_embeddings_and_output_weights = None
            self.config = config
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """
    good = """
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.pre_process = self.share_embeddings_and_output_weights = None
            self.input_tensor = None
            self.config = config
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            cls = stage.cls
            if not stage.is_one_of_several or hidden_base(analysis.project, cls):
                continue
            if "input_tensor" not in attributes_set(analysis.project, cls):
                init = constructor(analysis.project, cls)
                node: ast.AST = init[1] if init is not None and init[0] is cls else cls.node
                yield self.finding(place_of(cls.module, node), object=cls.name, cls=cls.name)
