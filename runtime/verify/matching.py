"""Which parameter of the original a parameter of a stage is, and how it is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def originals(names: Iterable[str], wanted: Iterable[str], table: Mapping[str, str]) -> dict[str, str]:
    """{name in a stage: name in the original}, for those that can be told.

    By the naming table (regular expressions, the first that fits), by the same name, and else by the only name that
    ends alike.
    """
    known = set(wanted)
    found: dict[str, str] = {}
    for name in names:
        other = by_table(name, table)
        if other in known:
            found[name] = other
    free = known - set(found.values())
    tails: dict[str, list[str]] = {}
    for other in free:
        parts = other.split(".")
        for start in range(1, len(parts)):
            tails.setdefault(".".join(parts[start:]), []).append(other)
        tails.setdefault(other, []).append(other)
    for name in names:
        if name in found:
            continue
        parts = name.split(".")
        for start in range(len(parts) - 1):
            candidates = tails.get(".".join(parts[start:]), [])
            if len(candidates) == 1 and candidates[0] not in found.values():
                found[name] = candidates[0]
                break
            if candidates:
                break
    return found


def by_table(name: str, table: Mapping[str, str]) -> str:
    """The name after the first pattern that fits."""
    for pattern, replacement in table.items():
        changed, count = re.subn(pattern, replacement, name)
        if count:
            return changed
    return name


def whole_shape(shape: tuple[int, ...], dim: int | None, tp: int) -> tuple[int, ...]:
    """The shape of all shards together."""
    if dim is None or not shape:
        return shape
    return (*shape[:dim], shape[dim] * tp, *shape[dim + 1 :])


def cut_dimension(shape: tuple[int, ...], whole: tuple[int, ...], tp: int) -> int | None:
    """The one dimension in which `shape` is a `tp`-th of `whole`; None if they are equal or differ otherwise."""
    if len(shape) != len(whole):
        return None
    differing = [dim for dim, (part, full) in enumerate(zip(shape, whole, strict=True)) if part != full]
    if len(differing) == 1 and shape[differing[0]] * tp == whole[differing[0]]:
        return differing[0]
    return None
