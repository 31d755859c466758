"""E7309"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import EntryCalled
from ..tpstate.verdicts import at, by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RegistryEntryCalled(Rule):
    """An entry of a lazy registry, a (module, class) pair, is called as if it were the class."""

    code, symbol = "E7309", "registry-entry-called"
    message = "the registry gives the pair `%(entry)s`, and the pair is called"
    advice = (
        "Import the class that the pair names first, `getattr(import_module(module), name)`, or build it by its style "
        "through the wrapper of the registry."
    )
    why = "A lazy registry holds names, so that nothing is imported before it is needed; a tuple cannot be called."
    symptom = Symptom.CRASH
    runtime = "TypeError: 'tuple' object is not callable"
    limits = "Silent when the key or the entry cannot be told."
    guide = "2.2: registries"
    maturity = "stable"

    bad = """
    from torch import nn

    _MLP_REGISTRY = {"StandardMLP": ("mlp.standard", "StandardMLP")}


    class Stage(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.mlp = _MLP_REGISTRY["StandardMLP"](dim=dim)  # [registry-entry-called]
    """
    good = """
    from importlib import import_module

    from torch import nn

    _MLP_REGISTRY = {"StandardMLP": ("mlp.standard", "StandardMLP")}


    class Stage(nn.Module):
        def __init__(self, dim):
            super().__init__()
            module, name = _MLP_REGISTRY["StandardMLP"]
            self.mlp = getattr(import_module(module), name)(dim=dim)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, EntryCalled):
            event = first_certain(events)
            chosen = event or events[0]
            outer = chosen.stack[-1] if chosen.stack else None
            yield self.finding(
                site_place(chosen.site),
                object=owner_name(chosen),
                evidence=(at(outer, tr("called from here")),) if outer is not None else (),
                decided=event is not None,
                entry=chosen.entry,
            )
