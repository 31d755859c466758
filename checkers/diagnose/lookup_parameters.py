"""Places that the name of a parameter in a checkpoint leads to: where the module makes, sizes and marks it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from .callers import given, setters, stores
from .candidate import Hint, reason
from .sources import Sources, SourceText


def shaped(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Two shapes of one parameter. Equal sizes cut along another axis speak for its mark, not for its making."""
    shapes = [[int(size) for size in re.findall(r"\d+", found[place])] for place in (2, 3)]
    same = math.prod(shapes[0]) == math.prod(shapes[1])
    yield from parameter(found, sources, is_marked=same)


def parameter(found: re.Match[str], sources: Sources, is_marked: bool = False) -> Iterator[Hint]:
    """A parameter by the name under which a checkpoint holds it: where the module makes and marks it."""
    parts = [part for part in found[1].split(".") if not part.isdigit()]
    own = parts[-1] if parts[-1] not in ("weight", "bias") else parts[-2] if len(parts) > 1 else parts[-1]
    owners = [
        (source, cls)
        for source in sources.having(f".{own}")
        for cls in source.nodes
        if isinstance(cls, ast.ClassDef) and any(True for _ in setters(cls, own))
    ]
    split = [pair for pair in owners if "istributed" in pair[0].path or "istributed" in pair[1].name]
    for source, cls in (split or owners)[:4]:
        yield from _making(source, cls, own, sources, is_marked)


def _making(
    source: SourceText, cls: ast.ClassDef, own: str, sources: Sources, is_marked: bool
) -> Iterator[Hint]:
    methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    for method, node in setters(cls, own):
        yield Hint(source.path, node.lineno, 46.0, reason("parameter-set-here", name=own))
        parameters = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {"self"}
        for parameter in sorted(parameters & used):
            for path, line, weight, key, fields in given(cls.name, parameter, sources, 30.0):
                yield Hint(path, line, weight, reason(key, **fields))
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr in methods:
                for inner in ast.walk(methods[part.attr]):
                    if isinstance(inner, ast.Return):
                        yield Hint(source.path, inner.lineno, 54.0, reason("parameter-made-here", name=own))
        yield from _locals(source, method, used - parameters, own)
    for call in ast.walk(cls):
        if isinstance(call, ast.Expr) and isinstance(call.value, ast.Call):
            if any(isinstance(arg, ast.Attribute) and arg.attr == own for arg in call.value.args):
                weight = 58.0 if is_marked else 36.0
                yield Hint(source.path, call.lineno, weight, reason("parameter-marked-here", name=own))


def _locals(source: SourceText, method: ast.FunctionDef, used: set[str], own: str) -> Iterator[Hint]:
    """What the sizes of a parameter were computed from."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and not stores(node, own):
            targets = {
                part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
            }
            if targets & used:
                yield Hint(source.path, node.lineno, 34.0, reason("parameter-made-here", name=own))
