"""Parallel layers in a `Sequential` or `ModuleList`, and their weights taken out of it without a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..project.project import External, Project, dotted_name
from ..project.scopes import Opaque, Scope
from .axes import last_name
from .frames import Frame, Scopes

_LAYER = re.compile(r"(Column|Row)ParallelLinear")
_REDUCES = re.compile(r"all_reduce|reduce_from|reduce_scatter|gather_from|all_gather")
_PRODUCTS = re.compile(r"torch\.(nn\.functional\.linear|matmul|mm|addmm|nn\.functional\.bilinear)")


@dataclass(frozen=True, eq=False)
class Taken:
    """`held.weight` as an operand in `call`: `held` comes out of the container `attr`, which holds such layers."""

    cls: ClassFacts
    frame: Frame
    call: ast.Call
    attr: str
    made: ast.Call


def weights_taken(project: Project) -> Iterator[Taken]:
    """Every product with the weight of a row-parallel layer that stands in a list, in classes that reduce nothing."""
    for module in project.modules:
        if (
            "RowParallelLinear" not in module.text
            or ".weight" not in module.text
            or project.is_framework(module)
        ):
            continue
        for cls in module.classes.values():
            if ".weight" in cls.text and not _REDUCES.search(cls.text):
                yield from _of_class(project, cls)


def _of_class(project: Project, cls: ClassFacts) -> Iterator[Taken]:
    found = project.method(cls, "__init__")
    if found is None or found[0].module is not cls.module:
        return
    held = _containers(project.knowledge(Scopes).of(found[0].module, found[1]))
    for method in cls.methods.values() if held else ():
        frame = Frame(project, project.knowledge(Scopes).of(cls.module, method), cls)
        for node in frame.scope.calls:
            if _multiplies(node, frame):
                attr = next((a for arg in node.args if (a := _source(arg, frame.scope)) in held), "")
                if attr:
                    yield Taken(cls, frame, node, attr, held[attr])


def _containers(scope: Scope) -> dict[str, ast.Call]:
    """Attributes that hold a list with a row-parallel layer in it, and where that layer is built."""
    lists: dict[str, ast.Call] = {}
    for node in scope.calls:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            made = (
                [call for call in _calls(node.args[0], scope) if "Row" in last_name(call.func)]
                if node.args
                else []
            )
            if made and isinstance(node.func.value, ast.Name):
                lists.setdefault(node.func.value.id, made[0])
    held: dict[str, ast.Call] = {}
    for name, values in scope.bound.items():
        for value in values if name.startswith("self.") else ():
            given = value.args[0] if isinstance(value, ast.Call) and value.args else None
            inner = given.value if isinstance(given, ast.Starred) else given
            if isinstance(inner, ast.Name) and inner.id in lists and isinstance(value, ast.Call):
                if last_name(value.func) in ("Sequential", "ModuleList"):
                    held[name.removeprefix("self.")] = lists[inner.id]
    return held


def _calls(node: ast.expr, scope: Scope) -> list[ast.Call]:
    """The calls that build a layer, through a local name."""
    values = scope.bound.get(node.id, []) if isinstance(node, ast.Name) else [node]
    return [
        value for value in values if isinstance(value, ast.Call) and _LAYER.fullmatch(last_name(value.func))
    ]


def _source(arg: ast.expr, scope: Scope) -> str:
    """The attribute that `held.weight` comes out of, where `held` is an item of it; else an empty text."""
    if not isinstance(arg, ast.Attribute) or arg.attr != "weight":
        return ""
    values = scope.bound.get(arg.value.id, []) if isinstance(arg.value, ast.Name) else [arg.value]
    for value in values:
        inner = (
            value.value
            if isinstance(value, ast.Subscript)
            else value.source
            if isinstance(value, Opaque)
            else None
        )
        name = dotted_name(inner) if inner is not None else None
        if name is not None and name.startswith("self."):
            return name.removeprefix("self.")
    return ""


def _multiplies(node: ast.Call, frame: Frame) -> bool:
    """A product of torch, or a function of autograd of the tree that makes one and reduces nothing."""
    if _PRODUCTS.fullmatch(frame.external(node.func)):
        return True
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "apply":
        return False
    cls = frame.ref(node.func.value)
    if not isinstance(cls, ClassFacts) or _REDUCES.search(cls.text):
        return False
    is_function = any(
        isinstance(entry, External) and entry.dotted.startswith("torch.autograd")
        for entry in frame.project.mro(cls)
    )
    forward = cls.methods.get("forward")
    return (
        is_function
        and forward is not None
        and any(
            isinstance(part, ast.Call) and last_name(part.func) in ("linear", "matmul", "mm")
            for part in walk(forward)
        )
    )
