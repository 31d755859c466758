"""Steps of the walk that leave the function: into what a layer or function returns, to who sets a key, to who built the
object that failed."""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING

from .callers import called, classes, crossed, functions, guards, misplaced, setters
from .makers import SHAPE_KINDS, entries, forward_of, hands_on, keys_of, makes, own_construction, renames
from .reading import Scope, at_module_level, calls_at, function_of, names_of, read, scope_of
from .sources import Sources, SourceText

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
            for cls_name in _built_classes(scope.owner, attribute, walk.sources):
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


def _built_classes(owner: ast.ClassDef | None, attribute: str, sources: Sources) -> list[str]:
    """The classes whose objects an attribute may hold, also where a function of the project builds them."""
    found: list[str] = []
    for _, node in setters(owner, attribute) if owner is not None else ():
        found += _classes_in(node.value, sources)
        for part in ast.walk(node.value) if node.value is not None else ():
            if isinstance(part, ast.Call) and called(part)[:1].islower():
                for source, function in functions(called(part), sources):
                    for back in ast.walk(function):
                        if isinstance(back, ast.Return):
                            found += [*_classes_in(back.value, sources), *_of_registry(back.value, source)]
    return list(dict.fromkeys(found))


def _classes_in(value: ast.expr | None, sources: Sources) -> list[str]:
    found: list[str] = []
    for part in ast.walk(value) if value is not None else ():
        if isinstance(part, ast.Call):
            if called(part)[:1].isupper():
                found.append(called(part))
            found += [
                str(keyword.value.value)
                for keyword in part.keywords
                if keyword.arg == "style" and isinstance(keyword.value, ast.Constant)
            ]
    return found


def _of_registry(value: ast.expr | None, source: SourceText) -> list[str]:
    """The classes of a dict of the module from which one is taken and built: `NORMS[kind](…)`."""
    found = []
    for part in ast.walk(value) if value is not None else ():
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            made = at_module_level(source, part.value.id)
            if made is not None and isinstance(made.value, ast.Dict):
                found += [entry.id for entry in made.value.values if isinstance(entry, ast.Name)]
    return found


def _returns(walk: Walk, scope: Scope, name: str, strength: float) -> None:
    """The returns of a function, and what they return."""
    function = scope.function
    if function is None or not walk.enter(function, strength):
        return
    for node in ast.walk(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        pair = walk.kind == "pair-as-tensor" and isinstance(node.value, ast.Tuple)
        made = makes(node.value, walk.kind) or (walk.kind == "dtype-mismatch" and not hands_on(node.value))
        weight = 70.0 if pair else 38.0 if made else 24.0
        walk.hint(scope.source, node.lineno, weight * strength, "returned-here", name=name)
        into_layers(walk, node.value, scope, name, strength * 0.85)
        for part in ast.walk(node.value):
            if isinstance(part, ast.Name) and part.id != "self":
                walk.name(part.id, scope, node.lineno, strength * 0.85)


def into_functions(walk: Walk, value: ast.AST, scope: Scope, strength: float) -> None:
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
                    few = walk.kind == "unpacking" and not isinstance(node.value, ast.Tuple)
                    weight = (
                        54.0 if nothing or path or few else 30.0 if makes(node.value, walk.kind) else 22.0
                    )
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
                    weight = (48.0 if own and number == first else 24.0) * strength
                    walk.hint(outer.source, node.lineno, weight, "built-here", name=attribute)
        strength *= 0.85


def of_module(walk: Walk, name: str, scope: Scope, strength: float) -> None:
    """A name of the module; of a registry, the entry that a frame further out asks for."""
    made = at_module_level(scope.source, name)
    if made is None:
        return
    walk.hint(scope.source, made.lineno, 24.0 * strength, "made-here", name=name)
    if isinstance(made.value, ast.Dict):
        asked = {
            part.value
            for spot in walk.spots
            for call in calls_at(spot)
            for part in (*call.args, *(keyword.value for keyword in call.keywords))
            if isinstance(part, ast.Constant)
        }
        for entry in made.value.keys:
            if isinstance(entry, ast.Constant) and entry.value in asked:
                walk.hint(scope.source, entry.lineno, 97.0 * strength, "entry-here", name=entry.value)


def asks_not(walk: Walk, first: int) -> None:
    """An attribute that the object has on some ranks only: the caller within the object did not ask."""
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", walk.message)
    if found is None or first + 1 >= len(walk.spots):
        return
    inner, outer = (scope_of(walk.spots[first + n], first + n) for n in (0, 1))
    if (
        inner.owner is not None
        and inner.owner is outer.owner
        and any(True for _ in setters(inner.owner, found[2]))
    ):
        walk.hint(outer.source, walk.spots[first + 1].line, 99.0, "asks-not", name=found[2])


def crossings(walk: Walk) -> None:
    """Calls on the way whose arguments carry each other's names."""
    for number, spot in enumerate(walk.spots[1:8], 1):
        callee = function_of(walk.spots[number - 1])
        for call in calls_at(spot) if callee is not None else ():
            names = crossed(call, callee)
            if not names and callee is not None and called(call) not in dir(builtins):
                names = misplaced(call, callee) if callee.name in ("forward", called(call)) else []
            if names:
                walk.hint(spot.source, call.lineno, 96.0, "crossed", name=" / ".join(names))
    if re.search(r"must be Tensor, not [A-Z]\w+$", walk.message.split("\n")[0]):
        _uncalled(walk)


def _uncalled(walk: Walk) -> None:
    """A layer that is handed over and not called: `self.mlp(self.norm)`."""
    for number, spot in enumerate(walk.spots[:6]):
        owner = scope_of(spot, number).owner
        for call in calls_at(spot):
            for argument in call.args:
                if isinstance(argument, ast.Attribute) and ast.unparse(argument.value) == "self":
                    if _built_classes(owner, argument.attr, walk.sources):
                        walk.hint(spot.source, call.lineno, 88.0, "not-called", name=argument.attr)
