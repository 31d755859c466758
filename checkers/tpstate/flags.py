"""The text of open conditions, and what follows from them."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(4096)
def split_parts(key: str, joiner: str) -> tuple[str, ...]:
    """The parts of `(a) and (b)`, where a part may be such a text itself."""
    parts: list[str] = []
    depth = start = 0
    for at, letter in enumerate(key):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                if key[start] != "(" or not (at + 1 == len(key) or key.startswith(f"{joiner}(", at + 1)):
                    return (key,)
                parts.append(key[start + 1 : at])
                start = at + 1 + len(joiner)
    return tuple(parts) if len(parts) > 1 and depth == 0 else (key,)


@lru_cache(4096)
def parts_of(key: str) -> tuple[tuple[str, ...], bool]:
    """The parts of a joined condition, and the side of any one that settles the whole; no parts where it is single."""
    if key.startswith("("):
        for joiner, decisive in ((" and ", False), (" or ", True)):
            parts = split_parts(key, joiner)
            if len(parts) > 1:
                return parts, decisive
    return (), False


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
