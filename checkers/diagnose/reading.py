"""What a line of a traceback reads, and what its function knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .callers import called
from .sources import SourceText, Spot


@dataclass(frozen=True)
class Scope:
    """Where a name is read. `number` is that of the frame whose caller is known, None off the traceback."""

    source: SourceText
    function: ast.FunctionDef | None
    owner: ast.ClassDef | None
    number: int | None


def scope_of(spot: Spot, number: int) -> Scope:
    """The scope of a frame."""
    around = spot.source.enclosing(spot.line)
    owner = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)
    return Scope(spot.source, function_of(spot), owner, number)


def function_of(spot: Spot) -> ast.FunctionDef | None:
    """The function of a frame; None at module level."""
    around = spot.source.enclosing(spot.line)
    return next((node for node in reversed(around) if isinstance(node, ast.FunctionDef)), None)


def read(spot: Spot, not_callable: bool = False) -> tuple[list[str], list[str], set[str]]:
    """Names and attributes of `self` that the failing expression reads, the part under the carets if there is one,
    and those attributes that it calls."""
    found = _marked(spot) or statement_of(spot)
    names: list[str] = []
    attributes: list[str] = []
    layers: set[str] = set()
    heads = {id(node.func) for node in ast.walk(found) if isinstance(node, ast.Call)} if found else set()
    for node in ast.walk(found) if found is not None else ():
        if isinstance(node, ast.Name) and node.id != "self" and (id(node) not in heads or not_callable):
            names.append(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            attributes.append(node.attr)
            if id(node) in heads:
                layers.add(node.attr)
    return list(dict.fromkeys(names)), list(dict.fromkeys(attributes)), layers


def _marked(spot: Spot) -> ast.AST | None:
    if not spot.frame.marked or not spot.same:
        return None
    try:
        found = ast.parse(spot.frame.marked, mode="eval").body
        return (
            None if isinstance(found, ast.Tuple) else found
        )  # the targets of an unpacking: what is unpacked matters
    except (SyntaxError, ValueError):
        return None


def statement_of(spot: Spot) -> ast.AST | None:
    """The statement of a line; of a `raise`, the test that led to it."""
    start, _ = spot.source.statement(spot.line)
    for node in spot.source.nodes:
        if not isinstance(node, ast.stmt) or node.lineno != start:
            continue
        if isinstance(node, (ast.If, ast.While)):
            return node.test
        if isinstance(node, ast.Raise):
            tests = [
                other
                for other in spot.source.nodes
                if isinstance(other, ast.If) and any(part is node for part in ast.walk(other))
            ]
            return max(tests, key=lambda test: test.lineno).test if tests else None
        return node if not hasattr(node, "body") else None
    return None


def only_parameters(spot: Spot) -> bool:
    """Whether a line reads nothing but parameters of its function."""
    function = function_of(spot)
    names, attributes, _ = read(spot)
    modules = {"torch", "F", "nn", "dist"}
    return (
        function is not None and bool(names) and not attributes and set(names) - modules <= names_of(function)
    )


def calls_at(spot: Spot) -> Iterator[ast.Call]:
    """The calls of a line's statement."""
    start, end = spot.source.statement(spot.line)
    for node in spot.source.nodes:
        if isinstance(node, ast.Call) and start <= node.lineno <= end:
            yield node


def names_of(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function."""
    arguments = function.args
    return {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self"}


def default_of(function: ast.FunctionDef, name: str) -> str | None:
    """The text of a parameter's default; None where it has none."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False),
             *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]  # fmt: skip
    return next((ast.unparse(value) for a, value in pairs if a.arg == name and value is not None), None)


def assignments(scope: Scope, name: str, line: int) -> Iterator[tuple[ast.stmt, ast.FunctionDef]]:
    """The statements that set a name, the last before the line first; for a name that a function only reads, those of
    the functions around it."""
    if scope.function is None:
        return
    around = [n for n in scope.source.enclosing(scope.function.lineno) if isinstance(n, ast.FunctionDef)]
    owners = [scope.function] if name in names_of(scope.function) else [*reversed(around)]
    for owner in owners or [scope.function]:
        limit = line if owner is scope.function else 10**9
        found = [
            node
            for node in ast.walk(owner)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For))
            and node.lineno < limit
            and name in targets(node)
        ]
        found.sort(key=lambda node: -node.lineno)
        yield from ((node, owner) for node in found[:3])
        if found:
            return


def at_module_level(source: SourceText, name: str) -> ast.Assign | ast.AnnAssign | None:
    """The statement that sets a name of the module."""
    for node in source.tree.body if source.tree is not None else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and name in targets(node):
            return node
    return None


def targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For) -> set[str]:
    """The names that an assignment sets."""
    nodes = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id for target in nodes for part in ast.walk(target) if isinstance(part, ast.Name)}


def calls_function(spot: Spot, function: ast.FunctionDef) -> bool:
    """Whether a frame calls a function itself, and not through a library that got it handed."""
    if function.name in ("forward", "__init__", "__call__"):
        return True
    return any(called(call) == function.name for call in calls_at(spot))


def given_for(spot: Spot, function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What the call of a frame gives for a parameter: of the call under the carets where there is one."""
    parameters = [
        a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "ctx")
    ]
    calls = [
        call
        for call in calls_at(spot)
        if not spot.frame.marked or ast.unparse(call) == _plain(spot.frame.marked)
    ]
    for call in calls[:1]:
        for keyword in call.keywords:
            if keyword.arg == name:
                yield keyword.value
        if name in parameters and parameters.index(name) < len(call.args):
            argument = call.args[parameters.index(name)]
            if not any(isinstance(arg, ast.Starred) for arg in call.args):
                yield argument


def _plain(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return text
