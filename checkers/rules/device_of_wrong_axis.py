"""E7756"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.axes import varies
from ..spmd.frames import functions
from ..spmd.names import WORLD, text_of
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_LOCAL = "torch.distributed.get_rank() % torch.cuda.device_count()"

_SETS = re.compile(r"set_device\(")


class DeviceOfWrongAxis(Rule):
    """A process takes the device that its rank in one group names."""

    code, symbol = "E7756", "device-of-wrong-axis"
    message = (
        "`%(call)s` picks the device by the %(axes)s rank, which several processes of a node have in common"
    )
    advice = 'Take the local rank: `int(os.environ["LOCAL_RANK"])`, or `dist.get_rank() %% torch.cuda.device_count()`.'
    why = (
        "Each process of a node needs a device of its own; the rank in a group is counted anew in each group."
    )
    symptom = Symptom.CRASH
    runtime = "NCCL reports a duplicate GPU, or one device holds several ranks and runs out of memory."
    limits = "Only where the rank comes from a function of the library that names the group."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Devices may be dealt out by hand, with one visible to each process."

    bad = """
    import torch
    from megatron.core import parallel_state


    def pick_device():
        torch.cuda.set_device(parallel_state.get_tensor_model_parallel_rank())  # [device-of-wrong-axis]
    """
    good = """
    import os

    import torch


    def pick_device():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _SETS):
            for call in frame.scope.calls:
                if not frame.external(call.func).endswith("cuda.set_device") or len(call.args) != 1:
                    continue
                axes = varies(call.args[0], frame)
                if axes and len(axes) == 1 and axes != WORLD:
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        call=ast.unparse(call)[:80],
                        axes=text_of(axes),
                        fix=unsafe(replace(frame.module, call.args[0], _LOCAL))
                        if "torch" in frame.module.bindings
                        else None,
                    )
