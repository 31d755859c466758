"""W7228"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.stage_classes import hidden_base, megatron_base
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageCheckpointMethodsMissing(Rule):
    """A stage has none of the methods by which Megatron saves a checkpoint."""

    code, symbol = "W7228", "stage-checkpoint-methods-missing"
    message = "`%(cls)s` has neither `sharded_state_dict` nor `state_dict_for_save_checkpoint`"
    advice = (
        "Derive the stage from `MegatronModule`, or define `state_dict_for_save_checkpoint` to return "
        "`self.state_dict(prefix=prefix, keep_vars=keep_vars)`."
    )
    why = (
        "With `--save` the training loop calls `sharded_state_dict` (distributed checkpoints) or "
        "`state_dict_for_save_checkpoint` on the model; torch.nn.Module has neither."
    )
    symptom = Symptom.TRAP
    runtime = "AttributeError after the first `--save-interval` steps, when the first checkpoint is due"
    limits = (
        "Stages of a known order in code that uses Megatron. Silent where a base class outside the tree may "
        "define the methods."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state
    from torch import nn


    class Net_stage0(nn.Module):  # [stage-checkpoint-methods-missing]
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)


    class Net_stage1(nn.Module):  # [stage-checkpoint-methods-missing]
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """
    good = """
    from megatron.core.transformer.module import MegatronModule
    from torch import nn


    class Net_stage0(MegatronModule):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)


    class Net_stage1(MegatronModule):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for stage in project.knowledge(Stages):
            cls = stage.cls
            if not stage.family.ordered or hidden_base(project, cls) or megatron_base(project, cls):
                continue
            texts = [cls.module.text, *(found.module.text for found in stage.family.maps)]
            if not any("megatron" in text for text in texts):
                continue
            names = ("sharded_state_dict", "state_dict_for_save_checkpoint")
            if not any(project.method(cls, name) for name in names):
                yield self.finding(place_of(cls.module, cls.node), object=cls.name, cls=cls.name)
