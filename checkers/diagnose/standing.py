"""Ranks that wait: the tests that let only some of them come to where they wait."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from .callers import called, functions
from .candidate import Hint, reason
from .reading import calls_at, function_of, targets
from .sources import Sources, Spot

_ASKS = re.compile(
    r"rank|stage|is_first|is_last|first_|last_|\bsrc\b|world|master|main_process|leader|local", re.I
)
_FRAMES = 3


def rank_tests(places: Sequence[Sequence[Spot]], sources: Sources) -> Iterator[Hint]:
    """For each rank's stack, outermost first: tests around the waiting call and before it that ask for the rank."""
    passed = [{(spot.source.path, _head(spot)) for spot in spots} for spots in places]
    for spots in places:
        for depth, spot in enumerate(list(reversed(spots))[:_FRAMES]):
            function = function_of(spot)
            if function is None:
                continue
            alone = sum((spot.source.path, function.lineno) in heads for heads in passed) < len(passed)
            weight = 62.0 - 5 * depth + (14.0 if alone and len(passed) > 1 else 0.0)
            for test, line in _tests(function, spot.line):
                if _asks_rank(test, sources):
                    yield Hint(spot.source.path, line, weight, reason("some-ranks-only"))
        if spots:
            yield from _source_and_group(spots[-1])


def _head(spot: Spot) -> int:
    function = function_of(spot)
    return function.lineno if function is not None else 0


def _tests(function: ast.FunctionDef, line: int) -> Iterator[tuple[ast.expr, int]]:
    """Tests under which a line stands, and those before it that leave or go on to the next round."""
    for node in ast.walk(function):
        if not isinstance(node, (ast.If, ast.While)) or node.lineno > line:
            continue
        around = node.lineno < line <= (node.end_lineno or node.lineno)
        leaves = any(isinstance(part, (ast.Return, ast.Continue, ast.Break, ast.Raise)) for part in node.body)
        if around or (leaves and isinstance(node, ast.If)):
            yield node.test, node.lineno


def _asks_rank(test: ast.expr, sources: Sources) -> bool:
    if _ASKS.search(ast.unparse(test)):
        return True
    for node in ast.walk(test):
        if isinstance(node, ast.Call):
            for _, function in functions(called(node), sources):
                if any(_ASKS.search(ast.unparse(part)) for part in function.body):
                    return True
    return False


def _source_and_group(spot: Spot) -> Iterator[Hint]:
    """Where source and group of the collective were computed."""
    function = function_of(spot)
    given = {
        part.id
        for call in calls_at(spot)
        for keyword in call.keywords
        if keyword.arg in ("src", "dst", "group", "group_src")
        for part in ast.walk(keyword.value)
        if isinstance(part, ast.Name)
    }
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and targets(node) & given and node.lineno < spot.line:
            asked = re.search(r"get_\w*(?:src|first|last)_rank\(|get_\w*group\(", ast.unparse(node.value))
            yield Hint(
                spot.source.path,
                node.lineno,
                20.0 if asked else 52.0,
                reason("made-here", name=", ".join(sorted(targets(node) & given))),
            )
