"""How many parallel layers were seen, and for how many row-parallel ones the state of the input could be decided.

The figures add up: each row-parallel layer has an input for every place that calls it, and one, undecided, where no
call of it was followed.
"""

from __future__ import annotations

from dataclasses import dataclass

from .analysis import Analysis
from .events import Built, ParallelCall
from .inputs import Verdict, judge
from .provider_table import PLAIN, ROW


@dataclass(frozen=True)
class Census:
    """Layers, and row-parallel ones among them, by the place that builds them; their inputs by the place that calls."""

    layers: int
    rows: int
    decided: int
    undecided: int


def count_layers(analysis: Analysis, paths: set[str]) -> Census:
    """Count over the files of `paths`. An input is decided once one run of its call decided it."""
    layers: set[tuple[str, int, int]] = set()
    rows: set[tuple[str, int, int]] = set()
    called: set[tuple[str, int, int]] = set()
    inputs: dict[tuple[str, int, int], bool] = {}
    for event in analysis.log.events:
        if event.site.module.display not in paths:
            continue
        if isinstance(event, Built):
            row = event.obj.provider
            if row is not None and row.kind != PLAIN:
                layers.add(event.site.key)
                if row.kind == ROW:
                    rows.add(event.site.key)
        elif isinstance(event, ParallelCall) and event.row.kind == ROW:
            if event.layer.made_at is not None:
                called.add(event.layer.made_at.key)
            inputs[event.site.key] = inputs.get(event.site.key, False) or judge(event) is not Verdict.UNKNOWN
    decided = sum(inputs.values())
    return Census(len(layers), len(rows), decided, len(inputs) - decided + len(rows - called))
