"""Objects that scripts and functions make: which class a value surely is an instance of, and which call made it."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..project.scopes import Opaque
from .axes import last_name
from .frames import Frame, returns

_MAX_STEPS, _MOST = 12, 60
"""How far one value is followed, and how many expressions it may come from."""
_KEEPS = frozenset("to cuda cpu eval train float half bfloat16 double requires_grad_ apply".split())
"""Methods of a module that give the module itself."""
_WRAPS = frozenset(("torch.jit.script", "torch.compile"))
"""Functions that give something that is called as the module is."""

Made = tuple[ast.Call, Frame]


def made_by(node: ast.expr, frame: Frame, steps: int = 0) -> list[Made]:
    """The constructor calls that may have made a value; empty where one of its sources cannot be told."""
    return _made_by(node, frame, steps, set()) or []


def class_of(node: ast.expr, frame: Frame) -> ClassFacts | None:
    """The class of the tree that a value is an instance of, by every expression that it may come from."""
    calls = made_by(node, frame)
    classes = [where.ref(call.func) for call, where in calls]
    first = classes[0] if classes else None
    return first if isinstance(first, ClassFacts) and all(cls is first for cls in classes) else None


def _made_by(node: ast.expr, frame: Frame, steps: int, seen: set[int]) -> list[Made] | None:
    """The calls; None where one source is unknown, empty where a value leads back to itself."""
    if id(node) in seen:
        return []
    seen.add(id(node))
    if steps > _MAX_STEPS or len(seen) > _MOST:
        return None
    if isinstance(node, Opaque):
        return _item(node, frame, steps, seen)
    if isinstance(node, ast.Call):
        return _of_call(node, frame, steps, seen)
    if isinstance(node, ast.Name | ast.Attribute):
        sources = _sources(node, frame)
        return _joined(sources, steps, seen) if sources else None
    return None


def _sources(node: ast.Name | ast.Attribute, frame: Frame) -> list[tuple[ast.expr, Frame]]:
    found = frame.definitions(node)
    if found or not isinstance(node, ast.Name):
        return found
    owner = frame.scope.owner_of(node.id)
    if owner is None or node.id in owner.parameters:
        return []
    return [(value, frame) for value in owner.bound.get(node.id, [])]


def _joined(sources: list[tuple[ast.expr, Frame]], steps: int, seen: set[int]) -> list[Made] | None:
    found: list[Made] = []
    for value, where in sources:
        part = _made_by(value, where, steps + 1, seen)
        if part is None:
            return None
        found += part
    return found


def _of_call(node: ast.Call, frame: Frame, steps: int, seen: set[int]) -> list[Made] | None:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS and frame.ref(node.func) is None:
        return _made_by(node.func.value, frame, steps + 1, seen)
    if frame.external(node.func) in _WRAPS and node.args:
        return _made_by(node.args[0], frame, steps + 1, seen)
    ref = frame.ref(node.func)
    inner = frame.callee(node) or _method(node, frame, steps)
    if inner is not None and not isinstance(ref, ClassFacts):
        values = returns(inner)
        return _joined([(value, inner) for value in values], steps, seen) if values else None
    return [(node, frame)] if ref is not None and last_name(node.func)[:1].isupper() else None


def _method(node: ast.Call, frame: Frame, steps: int) -> Frame | None:
    """The method that `thing.make()` enters, where the class of the thing is known."""
    if not isinstance(node.func, ast.Attribute) or not isinstance(node.func.value, ast.Name):
        return None
    calls = _made_by(node.func.value, frame, steps + 1, set()) or []
    cls = calls[0][1].ref(calls[0][0].func) if len(calls) == 1 else None
    found = frame.project.method(cls, node.func.attr) if isinstance(cls, ClassFacts) else None
    if found is None or not isinstance(cls, ClassFacts):
        return None
    return Frame(frame.project, frame.scope_of(found[0].module, found[1]), cls, {}, frame.depth + 1)


def _item(node: Opaque, frame: Frame, steps: int, seen: set[int]) -> list[Made] | None:
    """What an unpacking takes out of a tuple that a function of the tree returns."""
    call = node.source
    if node.index is None or not isinstance(call, ast.Call):
        return None
    inner = frame.callee(call) or _method(call, frame, steps)
    if inner is None:
        return None
    parts: list[tuple[ast.expr, Frame]] = []
    for value in returns(inner):
        if not isinstance(value, ast.Tuple) or node.index >= len(value.elts):
            return None
        parts.append((value.elts[node.index], inner))
    return _joined(parts, steps, seen) if parts else None
