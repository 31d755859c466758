"""E7202"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..project.stage_classes import hidden_base
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import lines_below, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageSetInputTensorMissing(Rule):
    """A stage has no `set_input_tensor` that stores what the previous stage sent."""

    code, symbol = "E7202", "stage-set-input-tensor-missing"
    message = "stage `%(cls)s` has no `set_input_tensor` that stores its argument"
    advice = "Add `def set_input_tensor(self, input_tensor): self.input_tensor = input_tensor`."
    why = "The pipeline schedule hands the received tensors over by this method, also to the first stage."
    symptom = Symptom.CRASH
    runtime = "RuntimeError: _get_attr_wrapped_model couldn't find attribute set_input_tensor"
    limits = "Only classes named or mapped as stages. Silent where a base class outside the tree may define the method."
    guide = "1.2: set_input_tensor"
    fix_kind = "safe"
    fix_note = "The schedule calls it and fails today."

    bad = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):  # [stage-set-input-tensor-missing]
        def __init__(self, dim, config=None):
            super().__init__()
            self.input_tensor = None
            self.layer = nn.Linear(dim, dim)

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """
    good = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.input_tensor = None
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            cls = stage.cls
            if stage.rank is None or hidden_base(analysis.project, cls):
                continue
            found = analysis.project.method(cls, "set_input_tensor")
            if found is None and "set_input_tensor" not in cls.constants:
                setter = (
                    "",
                    "def set_input_tensor(self, input_tensor):",
                    "    self.input_tensor = input_tensor",
                )
                last = cls.node.body[-1]
                yield self.finding(
                    place_of(cls.module, cls.node),
                    object=cls.name,
                    fix=safe(lines_below(cls.module, last, *setter)),
                    cls=cls.name,
                )
            elif found is not None and found[0] is cls and not _uses_argument(found[1]):
                last = found[1].body[-1]
                is_reached = not isinstance(last, ast.Return | ast.Raise)
                stored = f"self.input_tensor = {found[1].args.args[1].arg}"
                yield self.finding(
                    place_of(cls.module, found[1]),
                    object=cls.name,
                    fix=safe(lines_below(cls.module, last, stored)) if is_reached else None,
                    cls=cls.name,
                )


def _uses_argument(method: ast.FunctionDef) -> bool:
    spec = method.args
    if spec.vararg is not None or len(spec.args) < 2:
        return True
    name = spec.args[1].arg
    return any(isinstance(node, ast.Name) and node.id == name for part in method.body for node in walk(part))
