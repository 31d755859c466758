"""Loops that count from the first block of a stage, and what they index with the number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.nodes import as_code, walk
from .project import dotted_name

_Loop = ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.For


@dataclass(frozen=True, eq=False)
class Miscount:
    """An index that is off by the parameter `offset`: it is below 0 (`subtracted`), behind the end of `counted`, or has
    the offset twice (`added`); or the loop ends where the count `counted` does (`ends`)."""

    node: ast.expr
    offset: str
    index: str
    counted: str
    how: str


def miscounts(function: ast.FunctionDef) -> Iterator[Miscount]:
    """Loops over `range(count)` that subtract the first number, and loops from it that do not, where the lengths are
    checked."""
    spec = function.args
    names = {arg.arg for arg in (*spec.args, *spec.kwonlyargs)}
    for node in walk(function):
        if not isinstance(node, _Loop):
            continue
        heads = (
            [(node.target, node.iter)]
            if isinstance(node, ast.For)
            else [(g.target, g.iter) for g in node.generators]
        )
        if len(heads) != 1 or not isinstance(heads[0][0], ast.Name):
            continue
        index, source = heads[0][0].id, heads[0][1]
        if not isinstance(source, ast.Call) or dotted_name(source.func) != "range" or source.keywords:
            continue
        taken = [
            part for part in walk(node) if isinstance(part, ast.Subscript) and as_code(part.value) in names
        ]
        if len(source.args) == 1:
            yield from _below_zero(taken, index, names)
        elif len(source.args) == 2:
            yield from _behind_end(function, source, taken, index, names)
            yield from _ends_early(function, source, taken, index, names)
            first = as_code(source.args[0])
            for part in walk(node) if first in names and first not in as_code(source.args[1]) else ():
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
                    if {as_code(part.left), as_code(part.right)} == {first, index}:
                        yield Miscount(part, first, index, as_code(source.args[1]), "added")


def _below_zero(taken: list[ast.Subscript], index: str, names: set[str]) -> Iterator[Miscount]:
    for part in taken:
        place = part.slice
        if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Sub) and as_code(place.left) == index:
            if as_code(place.right) in names:
                yield Miscount(place, as_code(place.right), index, as_code(part.value), "subtracted")


def _behind_end(
    function: ast.FunctionDef, source: ast.Call, taken: list[ast.Subscript], index: str, names: set[str]
) -> Iterator[Miscount]:
    first, last = as_code(source.args[0]), source.args[1]
    if first not in names or not isinstance(last, ast.BinOp) or not isinstance(last.op, ast.Add):
        return
    sides = [as_code(last.left), as_code(last.right)]
    if first not in sides:
        return
    sides.remove(first)
    for part in taken:
        counted = as_code(part.value)
        if as_code(part.slice) == index and _is_checked(function, counted, sides[0]):
            yield Miscount(part, first, index, counted, "behind")


def _ends_early(
    function: ast.FunctionDef, source: ast.Call, taken: list[ast.Subscript], index: str, names: set[str]
) -> Iterator[Miscount]:
    """`range(first, count)`, of which each turn takes its place from the first on in a list of `count`."""
    first, count = map(as_code, source.args)
    if first not in names or count not in names:
        return
    for part in taken:
        if as_code(part.slice) == f"{index} - {first}" and _is_checked(function, as_code(part.value), count):
            yield Miscount(source, first, index, count, "ends")
            return


def _is_checked(function: ast.FunctionDef, counted: str, count: str) -> bool:
    """Whether a list of another length than the count is refused."""
    wanted = {f"len({counted})", count}
    return any(
        isinstance(node, ast.Compare) and {as_code(node.left), *map(as_code, node.comparators)} == wanted
        for node in walk(function)
    )
