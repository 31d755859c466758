"""Rolls of a shifted window that its module does not undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

_ROLLS = (torch.roll, torch.Tensor.roll)


@dataclass(frozen=True)
class Roll:
    """One roll: of which module, of how many cells along the axes, how far along each, and the line that asks."""

    module: nn.Module
    cells: tuple[int, ...]
    shifts: tuple[tuple[int, int], ...]
    place: tuple[str, int]


class Rolls:
    """What the modules of a stage roll, seen by the mode that is in force for it."""

    def __init__(
        self, running: Callable[[], nn.Module | None], caller: Callable[[], tuple[str, int]]
    ) -> None:
        self.running, self.caller = running, caller
        self.seen: list[Roll] = []

    def note(self, func, args: tuple, kwargs: dict) -> None:
        """A torch function is called."""
        module = self.running() if func in _ROLLS else None
        if module is None:
            return
        tensor = args[0] if args else kwargs.get("input")
        shifts = args[1] if len(args) > 1 else kwargs.get("shifts")
        axes = args[2] if len(args) > 2 else kwargs.get("dims", ())
        shifts, axes = (value if isinstance(value, tuple | list) else (value,) for value in (shifts, axes))
        if axes and len(shifts) == len(axes):
            moved = tuple(
                sorted((axis % tensor.ndim, int(shift)) for axis, shift in zip(axes, shifts, strict=True))
            )
            cells = tuple(tensor.shape[axis] for axis, _ in moved)  # queries and keys may share the channels
            self.seen.append(Roll(module, cells, moved, self.caller()))

    def not_undone(self) -> list[tuple[Roll, str]]:
        """The second of two opposite rolls of one module that leave an axis moved, and what they leave, in words."""
        found = []
        for module in {id(roll.module): roll.module for roll in self.seen}.values():
            rolls = [roll for roll in self.seen if roll.module is module]
            if len(rolls) != 2:
                continue
            (there, back), axes = rolls, [axis for axis, _ in rolls[0].shifts]
            if there.cells != back.cells or axes != [axis for axis, _ in back.shifts]:
                continue
            pairs = [(axis, a, b) for (axis, a), (_, b) in zip(there.shifts, back.shifts, strict=True)]
            if all(a * b < 0 for _, a, b in pairs) and any(a + b for _, a, b in pairs):
                moved = ", ".join(f"axis {axis} by {a} and back by {b}" for axis, a, b in pairs if a + b)
                found.append(
                    (back, f"two rolls do not undo each other: {moved}; what is added to it lies elsewhere")
                )
        return found
