"""The pipeline of a model as a picture: its stages from top to bottom, and what crosses each boundary."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from ..language import local, tr
from ..report.model import Mark, ModelReport, StageInfo, TensorRow
from .report_sections import bytes_text

WIDTH, MARGIN = 760, 16
_BOX, _LINE, _GAP = 58, 20, 26
_BAR = 180
_CELLS = 86
"""How many cells of a fixed-width font fit beside an arrow."""


@dataclass(frozen=True)
class Label:
    """One tensor beside an arrow. `full` is the text that was too long to be shown."""

    y: int
    mark: str
    text: str
    full: str


@dataclass(frozen=True)
class Box:
    """A stage. `bar` and `mean` are lengths of its share of the work and of an average stage, where they are known."""

    y: int
    title: str
    note: str
    mark: str
    bar: int
    mean: int
    share: str
    labels: tuple[Label, ...]
    arrow: int


@dataclass(frozen=True)
class Picture:
    height: int
    boxes: tuple[Box, ...]


def picture(model: ModelReport) -> Picture:
    """The boxes and arrows of a model."""
    work = {row.stage: row for row in model.balance.rows}
    largest = max((row.share or 0 for row in model.balance.rows), default=0)
    unit = _BAR / max(largest, 1.2)
    boxes, y = [], MARGIN
    for stage in model.stages:
        row = work.get(stage.cls)
        share = row.share if row is not None else None
        sent = _sent(model, stage) if stage is not model.stages[-1] else ()
        labels = tuple(_label(tensor, y + _BOX + _GAP + index * _LINE) for index, tensor in enumerate(sent))
        arrow = 0 if stage is model.stages[-1] else _GAP + max(1, len(labels)) * _LINE
        boxes.append(
            Box(
                y,
                _title(stage),
                _fit(row.layers if row is not None else "", 44),
                row.mark.value if row is not None else "open",
                round(unit * share) if share is not None else 0,
                round(unit),
                f"{share:.2f}" if share is not None else "?",
                labels,
                arrow,
            )
        )
        y += _BOX + arrow
    return Picture(y + MARGIN, tuple(boxes))


def _title(stage: StageInfo) -> str:
    return f"{stage.rank}  {stage.cls}" if stage.rank is not None else stage.cls


def _sent(model: ModelReport, stage: StageInfo) -> tuple[TensorRow, ...]:
    start = f"{stage.rank} → "
    return tuple(row for row in model.boundaries.rows if row.boundary.startswith(start))


def _label(row: TensorRow, y: int) -> Label:
    size = f"  {bytes_text(row.size)}" if row.size is not None else ""
    lost = f"  {local(tr('no gradient'))}" if row.gradient is Mark.NO else ""
    full = f"{row.name}  {row.shape}{size}{lost}"
    return Label(y, row.mark.value, _fit(full, _CELLS), full)


def _fit(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else f"{set_cell_size(text, cells - 1).rstrip()}…"
