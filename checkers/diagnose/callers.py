"""What lies behind a name: how an attribute is built, who gives a parameter, what a layer returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .sources import Sources, SourceText

_MOST_CALLS = 40

Found = tuple[str, int, float, str, dict[str, Any]]


def built(owner: ast.ClassDef, attribute: str, source: SourceText, sources: Sources) -> Iterator[Found]:
    """Where an attribute of the object is set, and, where it is an argument, who gives it."""
    for method, node in setters(owner, attribute):
        parameters = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
        assert node.value is not None
        is_call = isinstance(node.value, ast.Call)
        yield source.path, node.lineno, 28.0 if is_call else 17.0, "built-here", {"name": attribute}
        if method.name == "__init__" and not is_call:
            used = [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name) and n.id in parameters]
            for parameter in dict.fromkeys(used):
                yield from given(owner.name, parameter, sources, 21.0)


def setters(
    owner: ast.ClassDef, attribute: str
) -> Iterator[tuple[ast.FunctionDef, ast.Assign | ast.AnnAssign]]:
    """The assignments `self.attribute = …` of a class, with their methods."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef):
            for node in ast.walk(method):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value and stores(node, attribute):
                    yield method, node


def stores(node: ast.Assign | ast.AnnAssign, attribute: str) -> bool:
    """Whether an assignment sets an attribute of this name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(
        isinstance(part, ast.Attribute) and part.attr == attribute and isinstance(part.ctx, ast.Store)
        for target in targets
        for part in ast.walk(target)
    )


def given(cls: str, parameter: str, sources: Sources, weight: float) -> Iterator[Found]:
    """The calls that build a class, by its name or as a style, and give the parameter."""
    for path, call in calls_of(cls, sources):
        named = next((keyword for keyword in call.keywords if keyword.arg == parameter), None)
        if named is not None:
            yield path, named.value.lineno, weight, "given-here", {"name": parameter, "cls": cls}
        elif call.args:
            yield path, call.lineno, weight * 0.8, "given-here", {"name": parameter, "cls": cls}


def calls_of(cls: str, sources: Sources) -> Iterator[tuple[str, ast.Call]]:
    """The calls of the project that build a class: `Cls(…)`, or a wrapper with `style="Cls"`."""
    count = 0
    for source in sources.having(cls):
        for node in source.nodes:
            if isinstance(node, ast.Call) and _builds(node, cls):
                yield source.path, node
                count += 1
                if count > _MOST_CALLS:
                    return


def _builds(call: ast.Call, cls: str) -> bool:
    if called(call) == cls:
        return True
    return any(
        isinstance(value, ast.Constant) and value.value == cls
        for value in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg))
    )


def called(call: ast.Call) -> str:
    """The last part of the name that is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def classes(name: str, sources: Sources) -> Iterator[tuple[SourceText, ast.ClassDef]]:
    """The classes of this name."""
    for source in sources.having(name):
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield source, node


def crossed(call: ast.Call, callee: ast.FunctionDef | None) -> list[str]:
    """Two arguments that carry each other's parameter names."""
    given = callee.args if callee is not None else None
    parameters = (
        [a.arg for a in (*given.posonlyargs, *given.args) if a.arg != "self"] if given is not None else []
    )
    pairs = [(name, _last(value)) for name, value in zip(parameters, call.args, strict=False)]
    pairs += [(keyword.arg, _last(keyword.value)) for keyword in call.keywords if keyword.arg]
    return [name for name, value in pairs if value and value != name and (value, name) in pairs][:2]


def misplaced(call: ast.Call, callee: ast.FunctionDef) -> list[str]:
    """An argument given by position that carries the name of another parameter, which the call does not give."""
    parameters = [
        a.arg for a in (*callee.args.posonlyargs, *callee.args.args) if a.arg not in ("self", "ctx")
    ]
    named = {keyword.arg for keyword in call.keywords}
    if None in named or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    free = set(parameters[len(call.args) :]) - named
    pairs = [(name, _last(value)) for name, value in zip(parameters, call.args, strict=False)]
    return [part for name, value in pairs if value != name and value in free for part in (value, name)][:2]


def _last(value: ast.expr) -> str:
    if isinstance(value, ast.Attribute):
        return value.attr
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return str(value.slice.value)
    return value.id if isinstance(value, ast.Name) else ""


def guards(function: ast.FunctionDef, made: ast.stmt) -> Iterator[int]:
    """The tests of the function under which a statement stands, the nearest first."""
    found = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.If) and any(made is part for part in ast.walk(node))
    ]
    yield from sorted(found, reverse=True)


def kept(owner: ast.ClassDef, attribute: str) -> Iterator[int]:
    """Where a method stores a part of its argument only: `self.input_tensor = input_tensor[0]`."""
    for method, node in setters(owner, attribute):
        if method.name != "__init__" and isinstance(node.value, ast.Subscript):
            yield node.lineno


def functions(name: str, sources: Sources) -> Iterator[tuple[SourceText, ast.FunctionDef]]:
    """The functions of a name, where it is one alone."""
    found = [
        (source, node)
        for source in sources.having(f"def {name}")
        for node in source.nodes
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    if len(found) == 1:
        yield found[0]


def handed(function: ast.FunctionDef, name: str, source: SourceText) -> Iterator[tuple[int, ast.expr]]:
    """Where a function is bound to an argument beforehand: `partial(f, value)`."""
    parameters = [a.arg for a in function.args.args if a.arg != "self"]
    for node in source.nodes:
        if not isinstance(node, ast.Call) or called(node) != "partial" or not node.args:
            continue
        if _last(node.args[0]) != function.name:
            continue
        for parameter, value in zip(parameters, node.args[1:], strict=False):
            if parameter == name:
                yield node.lineno, value
        for keyword in node.keywords:
            if keyword.arg == name:
                yield node.lineno, keyword.value


def orders(made: ast.stmt, sources: Sources) -> Iterator[int]:
    """The line of `a, b = self.input_tensor` where every stage that returns these two returns them the other way."""
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    if not isinstance(target, ast.Tuple):
        return
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    other, same = False, False
    for source in sources.having("input_tensor"):
        for node in source.nodes:
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                sent = [part.id for part in node.value.elts if isinstance(part, ast.Name)]
                if set(sent) == set(names) and len(sent) == len(names):
                    same |= sent == names
                    other |= sent != names
    if other and not same:
        yield made.lineno
