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
    entries: dict[str, tuple[ast.expr, ast.expr]] = {}
    if isinstance(plan, ast.Name):
        owner = frame.scope.owner_of(plan.id)
        bound = owner.bound.get(plan.id, []) if owner is not None else []
        added = _added(plan.id, frame) if owner is frame.scope else {}
        plan = bound[0] if len(bound) == 1 else None
        entries = added
    told = _entries(plan) if plan is not None else None
    if told is None or module is None:
        return None
    entries = told | entries
    cls = _class_of(module, frame) or _by_names(list(entries), frame)
    return Plan(cls, entries) if cls is not None else None


def _entries(plan: ast.expr) -> dict[str, tuple[ast.expr, ast.expr]] | None:
    """A style for each name, of a dict display or `{f"attention.{n}": style for n in ("wq", "wk")}`."""
    if isinstance(plan, ast.Dict):
        return {
            key.value: (key, value)
            for key, value in zip(plan.keys, plan.values, strict=True)
            if isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and not set(key.value) & set("*?[")
        }
    if not isinstance(plan, ast.DictComp) or len(plan.generators) != 1 or plan.generators[0].ifs:
        return None
    turn = plan.generators[0]
    items = turn.iter.elts if isinstance(turn.iter, ast.Tuple | ast.List) else []
    words = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    if len(words) != len(items) or not isinstance(turn.target, ast.Name):
        return None
    names = [_written(plan.key, turn.target.id, word) for word in words]
    return {name: (plan.key, plan.value) for name in names if name} if None not in names else None


def _written(node: ast.expr, variable: str, word: str) -> str | None:
    """A text made with one variable: `f"attention.{n}"`, `n`, `"attention." + n`."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return word if node.id == variable else None
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    texts = [_written(part, variable, word) for part in parts]
    return "".join(text or "" for text in texts) if texts and None not in texts else None


def _added(name: str, frame: Frame) -> dict[str, tuple[ast.expr, ast.expr]]:
    """What is put into a plan once it is made: `plan["attention.wo"] = RowwiseParallel()`, `plan.update({…})`."""
    found: dict[str, tuple[ast.expr, ast.expr]] = {}
    for node in frame.scope.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            if as_code(node.targets[0].value) == name and isinstance(key, ast.Constant):
                found[str(key.value)] = key, node.value
        elif isinstance(node, ast.Call) and as_code(node.func) == f"{name}.update" and len(node.args) == 1:
            found |= _entries(node.args[0]) or {}
    return found


def _by_names(names: list[str], frame: Frame) -> ClassFacts | None:
    """The only class of the tree that has all modules that a plan names, down to the last."""
    if len(names) < 2 or not any("." in name for name in names):
        return None
    fitting = [
        cls
        for cls in frame.project.classes()
        if frame.project.is_module_class(cls)
        and all(name.split(".")[0] in cls.text for name in names)
        and not any(
            is_missing(frame, cls, name.split(".")) or not _is_seen(frame, cls, name) for name in names
        )
    ]
    return fitting[0] if len(fitting) == 1 else None


def _is_seen(frame: Frame, cls: ClassFacts, name: str) -> bool:
    """Whether each module on the way to the last is built from a class of the tree."""
    inner: ClassFacts | None = cls
    for part in name.split(".")[:-1]:
        inner = _child(frame, inner, part) if inner is not None else None
    return inner is not None


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
