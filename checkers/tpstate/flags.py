"""The text of open conditions, and what follows from them."""

from __future__ import annotations


def split_parts(key: str, joiner: str) -> list[str]:
    """The parts of `(a) and (b)`."""
    parts = key.split(f"){joiner}(")
    if len(parts) > 1:
        parts[0] = parts[0].removeprefix("(")
        parts[-1] = parts[-1].removesuffix(")")
    return parts


def implied(key: str, side: bool) -> dict[str, bool]:
    """A condition with all that follows from it: the parts of a true `and`, of a false `or`, and negations."""
    found = {key: side}
    if key.startswith("not "):
        found.update(implied(key[4:], not side))
    elif key.startswith("("):
        parts = split_parts(key, " and " if side else " or ")
        if len(parts) > 1:
            for part in parts:
                found.update(implied(part, side))
    return found


def bare(key: str) -> tuple[str, bool]:
    """A condition without its negations, and whether they turn it round."""
    turned = False
    while key.startswith("not "):
        key, turned = key[4:], not turned
    return key, turned
