"""One difference between two graphs of operations."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Node, Spot


@dataclass(frozen=True, eq=False)
class Difference:
    """What the distributed code (`mine`) does otherwise than the original (`theirs`).

    Both say where it is written; `values` are the two values that are used there, where both sides have one. `decided`
    is False where it may be what splitting needs.
    """

    theirs: Spot
    mine: Spot
    what: str
    values: tuple[Node, Node] | None = None
    decided: bool = True

    @property
    def made(self) -> Spot | None:
        """Where the value comes from that the distributed code uses, when that is another line."""
        if self.values is None:
            return None
        spot = self.values[1].spot
        return spot if spot.line != self.mine.line or spot.module is not self.mine.module else None
