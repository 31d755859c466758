"""The words of a text, and those that a pattern needs: what tells at once that a long text holds no match."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
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
    return _is_plain(pattern) or pattern.search(text) is not None


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
