"""E7401"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.imports import Cycle, distributed_cycles
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DistributedImportCycle(Rule):
    """Importing a distributed module leads back to it before it is loaded."""

    code, symbol = "E7401", "distributed-import-cycle"
    message = "importing `%(module)s` leads back to it: %(chain)s"
    advice = "Import the submodule's own class instead of the wrapper, or import inside the function that needs it."
    why = "A wrapper imports every module it registers. A registered module that imports it finds it half loaded."
    symptom = Symptom.CRASH
    runtime = "ImportError: cannot import name … from partially initialized module"
    limits = (
        "Imports inside functions, under TYPE_CHECKING, in a `try` that handles the failure, and lazy registry strings "
        "do not close a cycle. A cycle that fails only for one order of imports is listed by `--strict`. Cycles that "
        "run through files with nothing parallel in them are not followed."
    )
    guide = "Principles: no circular imports"
    maturity = "stable"

    # One file cannot import itself in a circle, save by its own name; the fixtures hold the usual case of three files.
    bad = """
    from example import Block  # [distributed-import-cycle]
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.block = Block(dim, config)


    class Block(nn.Module):
        pass
    """
    good = """
    from torch import nn


    class Block(nn.Module):
        pass


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.block = Block(dim, config)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for cycle in distributed_cycles(analysis.project):
            first = cycle.edges[0]
            yield self.finding(
                place_of(first.source, first.statement),
                object=first.source.name,
                evidence=_lines(cycle),
                decided=cycle.always_fails,
                module=first.source.name,
                chain=" → ".join([*(edge.source.name for edge in cycle.edges), first.source.name]),
            )


def _lines(cycle: Cycle) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            edge.source.display,
            edge.statement.lineno,
            tr("`%(source)s` imports `%(target)s`", source=edge.source.name, target=edge.target.name),
        )
        for edge in cycle.edges
    )
