"""W7758"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.places import in_tests
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.frames import module_functions
from ..tpstate.parameter_events import ShardWeighted
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_BACKWARD = re.compile(r"\.backward\(|forward_backward_func|pretrain\(")
_STEPS = re.compile(r"\.step\(|pretrain\(")
_MARKS = re.compile(r"sequence_parallel|average_gradients_across_tp_domain|register_hook|\.grad\b")
_TP_GROUP = re.compile(r"tensor_model_parallel_group|tp_group|model_parallel_group")
_SUMMED_BY_NAME = re.compile(r"[qk]_layernorm")


class SharedParameterUnsummed(Rule):
    """A parameter that every rank holds alike works on split values, and its gradient is never summed over them."""

    code, symbol = "W7758", "shared-parameter-unsummed"
    message = (
        "`%(name)s` is one for all TP ranks, each applies it to its own part of a value, and nothing sums its gradient "
        "over them"
    )
    advice = (
        "Hand it over by `copy_to_tensor_model_parallel_region(%(name)s)`, whose backward sums the gradients, or "
        "all-reduce its gradient over the tensor-parallel group before the optimizer's step."
    )
    why = (
        "Each rank's part gives a part of the gradient. The ranks step by different gradients, and what should be one "
        "parameter becomes as many as there are ranks."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the copies drift apart, and a checkpoint holds that of one rank"
    limits = (
        "Only in files on Megatron of a tree that trains, for parameters of known sizes and norms of torch in a class "
        "that marks nothing, and where no function of the tree sums gradients over the tensor-parallel group."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
            self.scale = nn.Parameter(torch.ones(1))
            self.down = RowParallelLinear(
                4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
            )

        def forward(self, x):
            h, _ = self.up(x)
            out, _ = self.down(torch.relu(h) * self.scale)  # [shared-parameter-unsummed]
            return out


    def step(model, x, optimizer):
        model(x).sum().backward()
        optimizer.step()
    """
    good = """
    import torch
    from megatron.core.tensor_parallel import (
        ColumnParallelLinear,
        RowParallelLinear,
        copy_to_tensor_model_parallel_region,
    )
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            init = config.init_method
            self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
            self.scale = nn.Parameter(torch.ones(1))
            self.down = RowParallelLinear(
                4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
            )

        def forward(self, x):
            h, _ = self.up(x)
            scale = copy_to_tensor_model_parallel_region(self.scale)
            out, _ = self.down(torch.relu(h) * scale)
            return out


    def step(model, x, optimizer):
        model(x).sum().backward()
        optimizer.step()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        events = [event for event in analysis.log.events if isinstance(event, ShardWeighted)]
        if not events or not project.knowledge(_trains) or project.knowledge(_sums_gradients):
            return
        seen: set[tuple[int, str]] = set()
        for found in by_site(events, ShardWeighted):
            event = first_certain(found)
            if event is None or event.owner is None or not event.name or _SUMMED_BY_NAME.search(event.name):
                continue
            if "megatron" not in event.owner.module.text or ":" in event.name:
                continue  # libraries of layers also serve inference; a slice by rank is the rank's own part
            key = (id(event.owner), event.name)
            if key not in seen and not _MARKS.search(event.owner.text):
                seen.add(key)
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    name=event.name,
                )


def _trains(project: Project) -> bool:
    """Whether a script of the tree runs a backward pass and steps."""
    return any(
        module.says(_BACKWARD) and module.says(_STEPS)
        for module in project.modules
        if not in_tests(module.display) and not project.is_framework(module)
    )


def _sums_gradients(project: Project) -> bool:
    """Whether a function may sum the gradients of all parameters over the tensor-parallel ranks."""
    return any(
        _TP_GROUP.search(text) and "sequence_parallel" not in text and "reduce" in text and "norm" not in text
        for module in project.modules
        if ".grad" in module.text and not project.is_framework(module)
        for frame in module_functions(project, module)
        if frame.scope.function is not None and ".grad" in (text := module.text_of(frame.scope.function))
    )
