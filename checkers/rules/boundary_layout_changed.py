"""E7241"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.received import turned_output
from ..spmd.virtual_stages import VirtualStages
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BoundaryLayoutChanged(Rule):
    """A pipeline stage sends its hidden state with other dimensions in front than it takes one."""

    code, symbol = "E7241", "boundary-layout-changed"
    message = "`%(cls)s` sends its hidden state turned round, and uses what it receives as it comes"
    advice = "Return `%(inner)s` on all stages but the last."
    why = (
        "The next stage of the same class takes the received tensor as it comes, and the schedule has made the receive "
        "buffer (sequence, batch, hidden): a tensor sent (batch, sequence, hidden) is read in the wrong order."
    )
    symptom = Symptom.CRASH
    runtime = (
        "Mismatch in shape of grad_output and output; with a batch as long as the sequence, wrong numbers."
    )
    limits = (
        "Only where one class serves all stages, and all it does in between is call parts that turn nothing."
    )
    fix_kind = "unsafe"
    fix_note = "What the next stage does with the tensor has to fit."
    guide = "beyond the guide; 3.1 declares the shapes that cross"

    bad = """
    from megatron.core import parallel_state
    from torch import nn


    class Body(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def forward(self, x):
            return x + self.layer(x)


    class Model(nn.Module):
        def __init__(self, channels, dim, pre_process=True, post_process=True):
            super().__init__()
            self.pre_process, self.post_process = pre_process, post_process
            if pre_process:
                self.embed = nn.Linear(channels, dim)
            self.body = Body(dim)
            if post_process:
                self.head = nn.Linear(dim, channels)

        def set_input_tensor(self, input_tensor):
            self.received = input_tensor[0]

        def forward(self, field):
            x = self.embed(field) if self.pre_process else self.received
            x = self.body(x)
            if self.post_process:
                return self.head(x)
            return x.transpose(0, 1).contiguous()  # [boundary-layout-changed]
    """
    good = """
    from megatron.core import parallel_state
    from torch import nn


    class Body(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def forward(self, x):
            return x + self.layer(x)


    class Model(nn.Module):
        def __init__(self, channels, dim, pre_process=True, post_process=True):
            super().__init__()
            self.pre_process, self.post_process = pre_process, post_process
            if pre_process:
                self.embed = nn.Linear(channels, dim)
            self.body = Body(dim)
            if post_process:
                self.head = nn.Linear(dim, channels)

        def set_input_tensor(self, input_tensor):
            self.received = input_tensor[0]

        def forward(self, field):
            x = self.embed(field) if self.pre_process else self.received
            x = self.body(x)
            if self.post_process:
                return self.head(x).transpose(0, 1)
            return x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(VirtualStages):
            found = turned_output(stage) if stage.received else None
            if found is not None:
                yield self.finding(
                    place_of(stage.forward.module, found[0]),
                    object=stage.cls.name,
                    fix=unsafe(replace(stage.forward.module, *found)),
                    cls=stage.cls.name,
                    inner=found[1],
                )
