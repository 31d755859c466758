"""The words of a text, and those that a pattern needs: what tells at once that a long text holds no match."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from ..files.prefilter import words_in

_BETWEEN = {number: " " for number in range(128) if not (chr(number).isalnum() or chr(number) == "_")}
_PLAIN = re.compile(r"\w+(\|\w+)*")


def words_of(text: str) -> str:
    """Each word of a text once: a tenth of it, which holds every part of a word that the text does."""
    return words_in(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def holds(pattern: re.Pattern[str], text: str, words: str) -> bool:
    """Whether a text, given with its words, has a match."""
    for pieces in _needed(pattern):
        if not any(word in words and (word == piece or piece in text) for word, piece in pieces):
            return False
    if _is_plain(pattern):
        return True
    searched = words if _is_of_words(pattern) else text
    return any(first in words and search(searched) is not None for first, search in _searches(pattern))


def lines_of(pattern: re.Pattern[str], text: str) -> list[int]:
    """The numbers of the lines where a match begins."""
    found, number, start = [], 1, 0
    for match in pattern.finditer(text):
        number += text.count("\n", start, match.start())
        start = match.start()
        found.append(number)
    return found


@cache
def _searches(pattern: re.Pattern[str]) -> tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]:
    """Searches, one of which finds something where the pattern would, each with a word it begins with or a part of one.

    Those that begin with plain text are quick, and are left out where no word has it.
    """
    whole = (("", pattern.search),)
    if pattern.flags & re.IGNORECASE or re.search(r"\\[1-9]|\(\?P=|^\(\?[a-zA-Z]", pattern.pattern):
        return whole
    sides = list(_sides(pattern.pattern))
    firsts = [found[1] for side in sides if (found := _QUICK.match(side))]
    if len(sides) > _MOST_SIDES or len(firsts) < len(sides):
        return whole
    return tuple(
        (first, re.compile(_looking_back(side), pattern.flags).search)
        for first, side in zip(firsts, sides, strict=True)
    )


_MOST_SIDES = 48
_LOOKS = re.compile(r"\(\?[^:]")
_QUICK = re.compile(r"(?:\\b)?(\w{2,}(?![*+?{])|\w{3,})")


def _looking_back(side: str) -> str:
    """`\\bword…` as `word(?<=\\bword)…`: the same, and begins with plain text."""
    found = re.match(r"\\b(\w+)(?![*+?{])", side)
    if found is None:
        return side
    return f"{found[1]}(?<={found[0]}){side[found.end() :]}"


def _sides(pattern: str) -> Iterator[str]:
    """The sides of a choice that a pattern is, or begins with; what each may begin with, or not, is left out."""
    for side in _split(pattern):
        side = side.removeprefix(r"\w*").removeprefix(r"\s*")
        end = _closing(side, 0) if side.startswith("(") and not _LOOKS.match(side) else 0
        if end and side[end + 1 : end + 2] in ("?", "*"):
            yield from _sides(side[end + 2 :].removeprefix("?"))
            continue
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


@cache
def _is_of_words(pattern: re.Pattern[str]) -> bool:
    """Whether each match lies in one word: then it is looked for in the words, which are a tenth of the text."""
    with contextlib.suppress(ImportError, AttributeError, TypeError, ValueError):  # no promise of the library
        return all(_is_of_word(str(kind), value) for kind, value in _parsed(pattern))
    return False


def _is_of_word(kind: str, value: Any) -> bool:
    if kind == "LITERAL":
        return _is_word_character(value)
    if kind == "AT":
        return str(value) in ("AT_BOUNDARY", "AT_NON_BOUNDARY")
    if kind == "IN":
        return all(_is_of_word(str(part), what) for part, what in value)
    if kind == "RANGE":
        return all(map(_is_word_character, range(value[0], value[1] + 1)))
    if kind == "CATEGORY":
        return str(value) in ("CATEGORY_WORD", "CATEGORY_DIGIT")
    if kind == "BRANCH":
        return all(_is_of_word(str(part), what) for side in value[1] for part, what in side)
    inner = {"SUBPATTERN": 3, "MAX_REPEAT": 2, "MIN_REPEAT": 2}.get(kind)
    return inner is not None and all(_is_of_word(str(part), what) for part, what in value[inner])


def _is_word_character(code: int) -> bool:
    return code < 128 and (chr(code).isalnum() or chr(code) == "_")


def _parsed(pattern: re.Pattern[str]) -> Iterable[tuple[Any, Any]]:
    parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    parsed: Iterable[tuple[Any, Any]] = parser.parse(pattern.pattern, pattern.flags)
    return parsed


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
            groups = list(_groups(_parsed(pattern)))
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
