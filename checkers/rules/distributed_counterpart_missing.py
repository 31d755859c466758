"""W7405"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.counterparts import missing_counterparts
from ..project.distributed import distributed_name
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DistributedCounterpartMissing(Rule):
    """A model has a distributed variant, and a module of it with linear layers has none."""

    code, symbol = "W7405", "distributed-counterpart-missing"
    message = (
        "`%(cls)s` holds `%(layer)s` and has no distributed counterpart, though `%(variant)s` is distributed"
    )
    advice = "Create `%(wanted)s` beside %(path)s and register it, or allow the plain layer in the settings."
    why = "A module that nobody split stays whole on every rank, and nothing fails to tell so."
    symptom = Symptom.COST
    runtime = "no error: every TP rank holds and computes the whole module"
    limits = (
        "Only modules that the original model names by a constant style, with linear layers of their own. Said once, "
        "where the stages use the module."
    )
    guide = "Detection flow, step 1: the file table"
    scope = Scope.GUIDE

    # A model and its stages may share a file; the fixtures hold the usual case, two folders.
    bad = """
    from torch import nn


    class IceFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.linear = nn.Linear(dim, dim)


    class IceDistributedBlock(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Ice(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fuser = OneFuser(style="IceFuser", dim=dim)  # [distributed-counterpart-missing]


    class Ice_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor
    """
    good = """
    from torch import nn


    class IceFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.linear = nn.Linear(dim, dim)


    class IceDistributedFuser(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser, "IceDistributedFuser": IceDistributedFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Ice(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fuser = OneFuser(style="IceFuser", dim=dim)


    class Ice_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        allowed = analysis.project.settings.allow_plain_linear
        for found in missing_counterparts(analysis.project):
            cls, text = found.cls, ast.unparse(found.layer.func)
            if cls.name in allowed or text.rsplit(".", 1)[-1] in allowed:
                continue
            yield self.finding(
                place_of(found.user.module, found.use),
                object=found.user.name,
                evidence=(
                    Evidence(
                        cls.module.display, found.layer.lineno, tr("`%(cls)s` builds it here", cls=cls.name)
                    ),
                ),
                cls=cls.name,
                layer=text,
                variant=found.variant,
                wanted=distributed_name(cls),
                path=cls.module.display,
            )
