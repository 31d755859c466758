"""Binding call arguments to parameters, and saying what does not fit."""

from __future__ import annotations

import ast

from ..language import tr
from . import expressions
from .frames import Frame
from .interpreter import Interpreter
from .values import UNKNOWN, Heap, Kwargs, Seq, Table, Value


def bind(
    interp: Interpreter,
    defaults: Frame,
    function: ast.FunctionDef | ast.Lambda,
    args: tuple[Value, ...],
    kwargs: Kwargs,
) -> tuple[Kwargs, tuple[str, str] | None]:
    """The variables a call starts with, and the first thing that does not fit (text, parameter)."""
    spec = function.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    keyword_only = [arg.arg for arg in spec.kwonlyargs]
    open_call = "**" in kwargs
    given = {name: value for name, value in kwargs.items() if name not in ("**", "*")}
    bound: Kwargs = dict(zip(names, args, strict=False))
    problem: tuple[str, str] | None = None
    if spec.vararg is not None:
        bound[spec.vararg.arg] = Seq(tuple(args[len(names) :]), kwargs.get("*"))
    elif len(args) > len(names):
        problem = (
            tr(
                "it takes %(number)s positional arguments and is given %(given)s",
                number=len(names),
                given=len(args),
            ),
            "",
        )
    extra: Kwargs = {}
    for name, value in given.items():
        if name in bound and name in names:
            problem = problem or (tr("argument `%(name)s` is given twice", name=name), name)
        elif name in names or name in keyword_only:
            bound[name] = value
        else:
            extra[name] = value
    if spec.kwarg is not None:
        rest = UNKNOWN if open_call else None
        bound[spec.kwarg.arg] = Heap("dict", {"content": Table(dict(extra), rest)})
    elif extra and problem is None:
        name = next(iter(extra))
        problem = (tr("it takes no argument `%(name)s`", name=name), name)
    missing = _fill_defaults(interp, defaults, spec, names, keyword_only, bound, open_call)
    if missing and problem is None and not open_call:
        problem = (tr("its argument `%(missing)s` is missing", missing=missing[0]), missing[0])
    return bound, problem


def _fill_defaults(
    interp: Interpreter,
    frame: Frame,
    spec: ast.arguments,
    names: list[str],
    keyword_only: list[str],
    bound: Kwargs,
    open_call: bool,
) -> list[str]:
    missing: list[str] = []
    first = len(names) - len(spec.defaults)
    pairs: list[tuple[str, ast.expr | None]] = [
        (name, spec.defaults[index - first] if index >= first else None) for index, name in enumerate(names)
    ]
    pairs += list(zip(keyword_only, spec.kw_defaults, strict=True))
    for name, default in pairs:
        if name in bound:
            continue
        if default is None:
            missing.append(name)
            bound[name] = UNKNOWN
        elif open_call:
            bound[name] = UNKNOWN
        else:
            outer, interp.frame = interp.frame, frame
            try:
                bound[name] = expressions.evaluate(interp, frame, default)
            finally:
                interp.frame = outer
    return missing


def names_of(
    interp: Interpreter, function: ast.FunctionDef, args: tuple[Value, ...], kwargs: Kwargs
) -> Kwargs:
    """Arguments by parameter name, defaults left out."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    bound = dict(zip(names, args, strict=False))
    bound.update({name: value for name, value in kwargs.items() if name not in ("**", "*")})
    return bound
