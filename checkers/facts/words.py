"""The words of a text, and those that a pattern needs: what tells at once that a long text holds no match."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

_BETWEEN = {number: " " for number in range(128) if not (chr(number).isalnum() or chr(number) == "_")}
_PLAIN = re.compile(r"\w+(\|\w+)*")


def words_of(text: str) -> str:
    """Each word of a text once: a tenth of it, which holds every part of a word that the text does."""
    return "\n".join(dict.fromkeys(text.translate(_BETWEEN).split()))


def holds(pattern: re.Pattern[str], text: str, words: str) -> bool:
    """Whether a text, given with its words, has a match."""
    for pieces in _needed(pattern):
        if not any(word in words and (word == piece or piece in text) for word, piece in pieces):
            return False
    return _is_plain(pattern) or any(search(text) is not None for search in _searches(pattern))


@cache
def _searches(pattern: re.Pattern[str]) -> tuple[Callable[[str], re.Match[str] | None], ...]:
    """Searches, one of which finds something where the pattern would; those that begin with plain text are quick."""
    if pattern.flags & re.IGNORECASE or re.search(r"\\[1-9]|\(\?P=|^\(\?[a-zA-Z]", pattern.pattern):
        return (pattern.search,)
    sides = list(_sides(pattern.pattern))
    if len(sides) > _MOST_SIDES or not all(_QUICK.match(side) for side in sides):
        return (pattern.search,)
    return tuple(re.compile(_looking_back(side), pattern.flags).search for side in sides)


_MOST_SIDES = 16
_QUICK = re.compile(r"(?:\\b)?(\w{2,}(?![*+?{])|\w{3,})")


def _looking_back(side: str) -> str:
    """`\\bword…` as `word(?<=\\bword)…`: the same, and begins with plain text."""
    found = re.match(r"\\b(\w+)(?![*+?{])", side)
    if found is None:
        return side
    return f"{found[1]}(?<={found[0]}){side[found.end() :]}"


def _sides(pattern: str) -> Iterator[str]:
    """The sides of a choice that a pattern is, or begins with."""
    for side in _split(pattern):
        start = len(side) - len(side.removeprefix("\\b"))
        end = _closing(side, start)
        inner = side[start + 1 : end].removeprefix("?:")
        if (
            side[start : start + 1] != "("
            or inner.startswith("?")
            or side[end + 1 : end + 2] in tuple("*+?{")
        ):
            yield side
        else:
            for first in _split(inner):
                yield from _sides(f"{side[:start]}{first}{side[end + 1 :]}")


def _split(pattern: str) -> list[str]:
    """The sides of a choice, at the top alone."""
    sides, start = [], 0
    for index, depth in _depths(pattern):
        if pattern[index] == "|" and not depth:
            sides.append(pattern[start:index])
            start = index + 1
    return [*sides, pattern[start:]]


def _closing(pattern: str, start: int) -> int:
    """Where the bracket closes that opens at `start`."""
    return next(
        (index for index, depth in _depths(pattern) if index > start and pattern[index] == ")" and not depth),
        0,
    )


def _depths(pattern: str) -> Iterator[tuple[int, int]]:
    """Each character that is no part of a class or behind a backslash, and in how many brackets it stands."""
    depth, index = 0, 0
    while index < len(pattern):
        if pattern[index] == "\\":
            index += 1
        elif pattern[index] == "[":
            index = pattern.index("]", index + (3 if pattern[index + 1] == "^" else 2))
        else:
            depth -= pattern[index] == ")"
            yield index, depth
            depth += pattern[index] == "("
        index += 1


def _is_plain(pattern: re.Pattern[str]) -> bool:
    return _PLAIN.fullmatch(pattern.pattern) is not None and not pattern.flags & re.IGNORECASE


@cache
def _needed(pattern: re.Pattern[str]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Pieces of text of which each match holds one, group by group, each with its longest word."""
    if _is_plain(pattern):
        return (tuple((word, word) for word in pattern.pattern.split("|")),)
    groups: list[set[str]] = []
    if not pattern.flags & re.IGNORECASE:
        with contextlib.suppress(
            ImportError, AttributeError, TypeError, ValueError
        ):  # no promise of the library
            parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
            groups = list(_groups(parser.parse(pattern.pattern, pattern.flags)))
    return tuple(tuple((_word(piece), piece) for piece in sorted(group)) for group in groups)


def _groups(parts: Iterable[tuple[Any, Any]]) -> Iterator[set[str]]:
    """What a sequence needs: its pieces of plain text, and what its parts need."""
    plain = ""
    for kind, value in (*parts, ("END", 0)):
        if str(kind) == "LITERAL":
            plain += chr(value)
            continue
        if _word(plain):
            yield {plain}
        plain = ""
        yield from _inside(str(kind), value)


def _inside(kind: str, value: Any) -> Iterator[set[str]]:
    if kind == "SUBPATTERN" and not value[1] & re.IGNORECASE:
        yield from _groups(value[3])
    elif kind == "BRANCH":
        sides = [
            max(_groups(side), key=lambda group: min(map(len, group)), default=None) for side in value[1]
        ]
        if None not in sides:
            yield set().union(*(side for side in sides if side is not None))
    elif kind in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
        yield from _groups(value[2])


def _word(piece: str) -> str:
    return max(piece.translate(_BETWEEN).split(), key=len, default="")
