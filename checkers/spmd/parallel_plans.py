"""Plans of `parallelize_module`: which style each module of a class is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..project.project import External
from ..project.scopes import Opaque
from .frames import Attributes, Frame
from .instances import class_of


@dataclass(frozen=True)
class Plan:
    """What `parallelize_module` is told of one module: a style, as written, for each name."""

    cls: ClassFacts
    entries: dict[str, tuple[ast.expr, ast.expr]]


def plan_of(call: ast.Call, frame: Frame) -> Plan | None:
    module, plan = frame.argument(call, "module", 0), frame.argument(call, "parallelize_plan", 2)
    if isinstance(plan, ast.Name):
        owner = frame.scope.owner_of(plan.id)
        bound = owner.bound.get(plan.id, []) if owner is not None else []
        plan = bound[0] if len(bound) == 1 else None
    cls = _class_of(module, frame) if module is not None else None
    if cls is None or not isinstance(plan, ast.Dict):
        return None
    entries = {
        key.value: (key, value)
        for key, value in zip(plan.keys, plan.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and not set(key.value) & set("*?[")
    }
    return Plan(cls, entries)  # type: ignore[arg-type]


def _class_of(node: ast.expr, frame: Frame) -> ClassFacts | None:
    """By annotation of a parameter, `assert isinstance(x, Block)`, or the constructor."""
    if not isinstance(node, ast.Name):
        return None
    function = frame.scope.function
    notes = (
        [
            arg.annotation
            for arg in (*function.args.args, *function.args.kwonlyargs)
            if arg.arg == node.id and arg.annotation is not None
        ]
        if function is not None
        else []
    )
    notes += [
        test.test.args[1]
        for test in frame.scope.of(ast.Assert)
        if isinstance(test.test, ast.Call)
        and as_code(test.test.func) == "isinstance"
        and as_code(test.test.args[0]) == node.id
    ]
    found = [frame.ref(note) for note in notes]
    if len(found) == 1:
        return found[0] if isinstance(found[0], ClassFacts) else None
    return class_of(node, frame)


def attribute(frame: Frame, cls: ClassFacts, name: str) -> ast.expr | None:
    """The one expression that an attribute of a class is given."""
    held = frame.project.knowledge(Attributes).of(cls).get(name, [])
    return held[0][0] if len(held) == 1 and not isinstance(held[0][0], Opaque) else None


def _child(frame: Frame, cls: ClassFacts, name: str) -> ClassFacts | None:
    """The class of the tree that an attribute is built from."""
    made = attribute(frame, cls, name)
    ref = frame.project.resolve_expression(cls.module, made.func) if isinstance(made, ast.Call) else None
    return ref if isinstance(ref, ClassFacts) else None


def is_missing(frame: Frame, cls: ClassFacts, parts: list[str]) -> bool:
    """Whether a dotted name surely leads nowhere: no class on the way hides what it has."""
    if not _is_open(frame, cls):
        held = frame.project.knowledge(Attributes).of(cls)
        if parts[0] not in held and "setattr" not in cls.text and "add_module" not in cls.text:
            return True
        inner = _child(frame, cls, parts[0])
        return inner is not None and len(parts) > 1 and is_missing(frame, inner, parts[1:])
    return False


def _is_open(frame: Frame, cls: ClassFacts) -> bool:
    """Whether a base outside the tree, other than torch's Module, may bring modules."""
    known = ("torch.nn.Module", "torch.nn.modules.module.Module", "object")
    return any(isinstance(entry, External) and entry.dotted not in known for entry in frame.project.mro(cls))


def holders(frame: Frame, plan: Plan) -> Iterator[tuple[ClassFacts, str]]:
    """The module, and those below it that the names of the plan lead through."""
    yield plan.cls, ""
    seen: set[str] = set()
    for name in plan.entries:
        parts = name.split(".")[:-1]
        prefix = ".".join(parts)
        if not parts or prefix in seen:
            continue
        seen.add(prefix)
        cls: ClassFacts | None = plan.cls
        for part in parts:
            cls = _child(frame, cls, part) if cls is not None else None
        if cls is not None:
            yield cls, prefix + "."


def assigned(function: ast.FunctionDef) -> set[str]:
    """The names that a function gives a value."""
    return {
        part.id for part in walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
