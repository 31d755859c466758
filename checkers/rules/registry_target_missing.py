"""E7404"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.registries import registries
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RegistryTargetMissing(Rule):
    """A registry entry names a module or a class that does not exist."""

    code, symbol = "E7404", "registry-target-missing"
    message = 'the style "%(style)s" of `%(registry)s` leads nowhere: %(missing)s'
    advice = "Correct the name, or take the entry out."
    why = "A lazy entry is a string: nothing looks at it until a model asks for the style."
    symptom = Symptom.CRASH
    runtime = "ModuleNotFoundError, or ImportError: failed to resolve style, when a model asks for it"
    limits = "Silent about packages outside of the tree, extension modules, and modules that define names as they run."
    guide = "Detection flow, step 3: registries"
    maturity = "stable"

    bad = """
    from torch import nn


    class IceFuser(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {
        "IceFuser": ("example", "IceFuser"),
        "IceDistributedFuser": ("example", "IceDistributedFuser"),  # [registry-target-missing]
    }
    """
    good = """
    from torch import nn


    class IceFuser(nn.Module):
        def forward(self, x):
            return x


    class IceDistributedFuser(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {
        "IceFuser": ("example", "IceFuser"),
        "IceDistributedFuser": ("example", "IceDistributedFuser"),
    }
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for registry in registries(analysis.project):
            for entry in registry.entries:
                if entry.missing:
                    yield self.finding(
                        place_of(registry.module, entry.node),
                        object=registry.name,
                        style=entry.style,
                        registry=registry.name,
                        missing=entry.missing,
                    )
