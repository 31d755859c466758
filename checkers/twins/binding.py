"""Arguments by the names that the callee gives them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..facts.module import ClassFacts


def bind(function: ast.FunctionDef | ast.Lambda, names: Sequence[str], *, skip_self: bool) -> list[str]:
    """The parameter that each argument goes to: positional ones are counted, keywords stay."""
    parameters = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if skip_self:
        parameters = parameters[1:]
    return [
        parameters[index] if not name and index < len(parameters) else name or f"*{index}"
        for index, name in enumerate(names)
    ]


def defaults(function: ast.FunctionDef, *, skip_self: bool = True) -> dict[str, ast.expr | None]:
    """Every named parameter with its default; `self` has none and is left out."""
    args = function.args
    every = [*args.posonlyargs, *args.args]
    found: dict[str, ast.expr | None] = {arg.arg: None for arg in every[1 if skip_self else 0 :]}
    for arg, value in zip(reversed(every), reversed(args.defaults), strict=False):
        found[arg.arg] = value
    for arg, kw_value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found[arg.arg] = kw_value
    return found


def data_fields(cls: ClassFacts) -> list[str]:
    """The fields of a data class or named tuple, in the order in which its constructor takes them."""
    marks = [*cls.node.decorator_list, *cls.node.bases]
    if not any("dataclass" in ast.unparse(mark) or "NamedTuple" in ast.unparse(mark) for mark in marks):
        return []
    return [
        part.target.id
        for part in cls.node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
