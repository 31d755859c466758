"""Steps of the walk that leave the function: into what a layer or function returns, to who sets a key, to who built the
object that failed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .callers import called, classes, functions, guards, setters
from .makers import SHAPE_KINDS, entries, forward_of, keys_of, makes, own_construction, renames
from .reading import Scope, calls_at, function_of, names_of, read, scope_of

if TYPE_CHECKING:
    from .flow import Walk

_MOST = 6


def into_layers(walk: Walk, value: ast.expr, scope: Scope, name: str, strength: float) -> None:
    """`x = self.layer(x)`: what the layer's forward returns, its own method likewise."""
    for call in ast.walk(value):
        if not isinstance(call, ast.Call):
            continue
        for attribute in (*_attributes(call), *_looped(call, scope.function)):
            own = _method(scope.owner, attribute)
            if own is not None:
                _returns(walk, Scope(scope.source, own, scope.owner, None), name, strength)
                continue
            for cls_name in _built_classes(scope.owner, attribute):
                for source, cls in list(classes(cls_name, walk.sources))[:2]:
                    found = forward_of(cls, walk.sources)
                    if found is None:
                        continue
                    inner, forward = found
                    if forward not in cls.body:  # inherited: what is its own is how it is built
                        line = own_construction(cls)
                        if line is not None:
                            walk.hint(source, line, 33.0 * strength, "built-here", name=cls_name)
                    owner = next(
                        (n for n in inner.enclosing(forward.lineno) if isinstance(n, ast.ClassDef)), cls
                    )
                    _returns(walk, Scope(inner, forward, owner, None), name, strength)


def _attributes(call: ast.Call) -> list[str]:
    """Attributes of `self` that a call calls, or hands over to be called: `checkpoint(self.layer, x)`."""
    found = [call.func, *call.args]
    return [
        part.attr
        for part in found
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
    ]


def _looped(call: ast.Call, function: ast.FunctionDef | None) -> list[str]:
    """The attribute of `self` over which a loop runs whose variable is called."""
    if not isinstance(call.func, ast.Name) or function is None:
        return []
    return [
        part.attr
        for node in ast.walk(function)
        if isinstance(node, ast.For)
        and call.func.id in {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        for part in ast.walk(node.iter)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
    ]


def _method(owner: ast.ClassDef | None, name: str) -> ast.FunctionDef | None:
    for part in owner.body if owner is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == name:
            return part
    return None


def _built_classes(owner: ast.ClassDef | None, attribute: str) -> list[str]:
    found: list[str] = []
    for _, node in setters(owner, attribute) if owner is not None else ():
        for part in ast.walk(node.value) if node.value is not None else ():
            if isinstance(part, ast.Call):
                if called(part)[:1].isupper():
                    found.append(called(part))
                found += [
                    str(keyword.value.value)
                    for keyword in part.keywords
                    if keyword.arg == "style" and isinstance(keyword.value, ast.Constant)
                ]
    return list(dict.fromkeys(found))


def _returns(walk: Walk, scope: Scope, name: str, strength: float) -> None:
    """The returns of a function, and what they return."""
    function = scope.function
    if function is None or not walk.enter(function, strength):
        return
    for node in ast.walk(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        pair = walk.kind == "pair-as-tensor" and isinstance(node.value, ast.Tuple)
        made = makes(node.value, walk.kind)
        weight = 70.0 if pair else 38.0 if made else 24.0
        walk.hint(scope.source, node.lineno, weight * strength, "returned-here", name=name)
        into_layers(walk, node.value, scope, name, strength * 0.85)
        for part in ast.walk(node.value):
            if isinstance(part, ast.Name) and part.id != "self":
                walk.name(part.id, scope, node.lineno, strength * 0.85)


def into_functions(walk: Walk, value: ast.expr, scope: Scope, strength: float) -> None:
    """What a function of the project returns, also one that was handed over as an argument."""
    for call in ast.walk(value):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        name = call.func.id
        if scope.function is not None and name in names_of(scope.function):
            name = walk.given(name, scope) or name
        for source, function in functions(name, walk.sources):
            inner = Scope(source, function, None, None)
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    nothing = walk.none and "None" in ast.unparse(node.value)
                    path = walk.kind == "checkpoint-load" and any(
                        isinstance(part, ast.JoinedStr) for part in ast.walk(node.value)
                    )
                    weight = 54.0 if nothing or path else 30.0 if makes(node.value, walk.kind) else 22.0
                    walk.hint(source, node.lineno, weight * strength, "returned-here", name=name)
                    for test in guards(function, node) if nothing else ():
                        walk.hint(source, test, 56.0 * strength, "only-under-this-test", name=name)
                    for part in ast.walk(node.value):
                        if isinstance(part, ast.Name):
                            walk.name(part.id, inner, node.lineno, strength)


def to_entries(walk: Walk, value: ast.AST, strength: float) -> None:
    """Who sets the keys that an expression reads."""
    for _, key in keys_of(value):
        for source, entry, written, line in list(entries(key, walk.sources))[:_MOST]:
            renamed = walk.kind in SHAPE_KINDS and renames(written) and isinstance(entry, ast.Assign)
            weight = 50.0 if renamed else 44.0 if makes(written, walk.kind) else 30.0
            walk.hint(source, line, weight * strength, "entry-set-here", name=key)
            function = next(
                (n for n in reversed(source.enclosing(line)) if isinstance(n, ast.FunctionDef)), None
            )
            inner = Scope(source, function, None, None)
            if walk.enter(written, strength):
                to_entries(walk, written, strength * 0.85)
                for part in ast.walk(written):
                    if isinstance(part, ast.Name) and part.id != "self":
                        walk.name(part.id, inner, line, strength * 0.95)


def constructions(walk: Walk, first: int) -> None:
    """Where the objects on the traceback were built: the attribute that each frame calls."""
    inner = walk.spots[first] if first < len(walk.spots) else None
    own = bool(inner is not None and read(inner)[1])  # the line that failed reads what the object holds
    strength = 1.0
    for number in range(first, min(len(walk.spots) - 1, first + 5)):
        spot, outer = walk.spots[number], walk.spots[number + 1]
        function = function_of(spot)
        if function is None or function.name != "forward" or walk.framework(outer.source.path):
            continue
        owner = scope_of(outer, number + 1).owner
        wanted = outer.frame.marked or outer.code
        for call in calls_at(outer):
            for attribute in _attributes(call):
                if owner is None or f"self.{attribute}" not in wanted:
                    continue
                for _, node in setters(owner, attribute):
                    if "**" in ast.unparse(node):
                        continue
                    weight = (43.0 if own and number == first else 24.0) * strength
                    walk.hint(outer.source, node.lineno, weight, "built-here", name=attribute)
        strength *= 0.85
