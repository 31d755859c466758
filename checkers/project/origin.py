"""Where the values of a stage's forward come from: which received tensors, which operation, which form."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

ARGUMENT = -1
"""The forward's own argument, beside the numbers of the received tensors."""

_MASK_NAME = re.compile(r"(?:^|_)masks?\d*(?:$|_(?!token|ratio|prob|id|index)\w*)")


@dataclass(frozen=True)
class Origin:
    """What is known of one value.

    `received` are the received tensors whose gradient it carries; `passes` the one it still is, unchanged. `serial`
    tells tensors apart, `source` is the serial of what it is a plain copy of. `dtype` is int, bool, half, float32,
    like (that of the activations) or empty. `constant` values need no activation to be computed. `name` of a result is
    the submodule that made it (`self.layer1`), as long as its shape is the same.
    """

    kind: str = "unknown"
    received: frozenset[int] = frozenset()
    passes: int | None = None
    serial: int = 0
    source: int = 0
    contiguous: bool | None = None
    dtype: str = ""
    is_mask: bool = False
    constant: bool = False
    batch: bool = False
    items: tuple[Origin, ...] | None = None
    name: str = ""
    how: str = ""
    node: ast.AST | None = None
    value: Any = None

    def but(self, **changes: Any) -> Origin:
        return replace(self, **changes)

    @property
    def carries(self) -> frozenset[int]:
        """What it and its items carry."""
        found = self.received
        for item in self.items or ():
            found |= item.carries
        return found

    @property
    def is_tensor(self) -> bool:
        return self.kind in ("tensor", "result")


UNKNOWN = Origin()
NOTHING = Origin("none")


def number(dtype: str = "int", batch: bool = False, value: Any = None) -> Origin:
    """A Python number."""
    return Origin("number", dtype=dtype, batch=batch, constant=True, value=value)


def looks_like_mask(name: str) -> bool:
    """Whether a variable is a mask by its name."""
    return _MASK_NAME.search(name.lower()) is not None


def join(left: Origin | None, right: Origin | None) -> Origin:
    """One of two values, after a condition that stays open."""
    if left is None or right is None or left == right:
        return left or right or UNKNOWN
    same_items = left.items is not None and right.items is not None and len(left.items) == len(right.items)
    items = (
        tuple(join(a, b) for a, b in zip(left.items or (), right.items or (), strict=True))
        if same_items
        else None
    )
    return Origin(
        kind=left.kind
        if left.kind == right.kind and (items is not None or left.items is None)
        else _kind(left, right),
        received=left.carries | right.carries if items is None else left.received | right.received,
        passes=left.passes if left.passes == right.passes else None,
        serial=left.serial if left.serial == right.serial else 0,
        source=left.source if left.source == right.source else 0,
        contiguous=left.contiguous if left.contiguous == right.contiguous else None,
        dtype=left.dtype if left.dtype == right.dtype else "",
        is_mask=left.is_mask and right.is_mask,
        constant=left.constant and right.constant,
        batch=left.batch and right.batch,
        items=items,
        how=left.how if left.how == right.how else "",
        name=left.name if left.name == right.name else "",
        node=left.node or right.node,
    )


def _kind(left: Origin, right: Origin) -> str:
    return "result" if left.is_tensor and right.is_tensor else "unknown"
