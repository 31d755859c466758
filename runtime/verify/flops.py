"""Counting operations."""

from __future__ import annotations

from torch.utils.flop_counter import FlopCounterMode


class FlopCounter(FlopCounterMode):
    """Counts operations, of all modules together.

    torch's own follows modules as well, by hooks that fail on a view of a parameter that is made without gradients:
    `self.queries.expand(batch, -1, -1)` inside a checkpoint.
    """

    def __init__(self, custom_mapping: dict | None = None) -> None:
        super().__init__(display=False, custom_mapping=custom_mapping)
        self.mod_tracker = _AllTogether()


class _AllTogether:
    parents = frozenset({"Global"})
    is_bw = False

    def __enter__(self) -> _AllTogether:
        return self

    def __exit__(self, *error: object) -> None:
        pass
