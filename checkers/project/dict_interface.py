"""Forwards of the dict interface: modules that take one `obj` holding `x` and, where there is one, `mask`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .project import Project


@dataclass(eq=False)
class DictForward:
    """One such forward. `name` is the parameter; `nodes` are all nodes of the body, each with the blocks around it."""

    cls: ClassFacts
    method: ast.FunctionDef
    name: str
    nodes: list[ast.AST] = field(default_factory=list)

    @cached_property
    def branches(self) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
        """What runs for a dict and for an object, by the test `isinstance(obj, dict)`; None without one."""
        for node in self.nodes:
            if isinstance(node, ast.If):
                test, swap = node.test, False
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test, swap = test.operand, True
                if ast.unparse(test).startswith(f"isinstance({self.name}, dict"):
                    return (node.orelse, node.body) if swap else (node.body, node.orelse)
        return None

    @cached_property
    def filled_at(self) -> int:
        """The line from which the dict is known to hold a mask, because the forward stored one."""
        lines = [
            node.lineno
            for node in self.nodes
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and self.is_key(node, "mask")
            )
            or (isinstance(node, ast.Call) and ast.unparse(node.func) == f"{self.name}.setdefault")
        ]
        return min(lines, default=1 << 30)

    def is_key(self, node: ast.AST, key: str) -> bool:
        """`obj["key"]`"""
        return (
            isinstance(node, ast.Subscript)
            and self.is_obj(node.value)
            and getattr(node.slice, "value", None) == key
        )

    def is_obj(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def mentions(self, text: str) -> bool:
        """Whether the source of the forward holds a text."""
        first, last = self.method.lineno - 1, self.method.end_lineno
        return any(text in line for line in self.cls.module.lines[first:last])


def dict_forwards(project: Project) -> list[DictForward]:
    """Every forward that reads `x` or `mask` from its first parameter by key or attribute; found once."""
    return project.knowledge(_dict_forwards)


def dict_forward_of(project: Project, cls: ClassFacts) -> DictForward | None:
    """The dict forward that a class declares itself, if it does."""
    return next((found for found in dict_forwards(project) if found.cls is cls), None)


def _dict_forwards(project: Project) -> list[DictForward]:
    return list(_find(project))


def _find(project: Project) -> Iterator[DictForward]:
    for cls in project.classes():
        found = None if project.is_framework(cls.module) else as_dict_forward(cls)
        if found is not None:
            yield found


def as_dict_forward(cls: ClassFacts) -> DictForward | None:
    """The forward of a class, if it reads `x` from its first parameter by key or attribute."""
    method = cls.methods.get("forward")
    if method is None or len(method.args.args) < 2:
        return None
    name = method.args.args[1].arg
    marks = (f'{name}["x"]', f"{name}['x']", f"{name}.x")
    text = cls.module.text_of(method)
    if not any(mark in text for mark in marks):
        return None
    found = DictForward(cls, method, name, [node for part in method.body for node in walk(part)])
    return (
        found if any(found.is_key(node, "x") or _is_attribute(found, node) for node in found.nodes) else None
    )


def _is_attribute(forward: DictForward, node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "x" and forward.is_obj(node.value)


def unsafe_mask_reads(forward: DictForward) -> Iterator[ast.expr]:
    """Reads of the mask that fail where there is none: `obj["mask"]` and `obj.mask`, before the forward stores one."""
    asks = any(forward.mentions(f"{mark} in {forward.name}") for mark in ('"mask"', "'mask'"))
    asks_object = forward.mentions(f"hasattr({forward.name}")
    for node in forward.nodes:
        if not isinstance(node, ast.Subscript | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if (forward.is_key(node, "mask") and not asks and not _stored_before(forward, node)) or (
            isinstance(node, ast.Attribute)
            and node.attr == "mask"
            and forward.is_obj(node.value)
            and not asks_object
        ):
            yield node


def objects_with_mask(project: Project) -> bool | None:
    """Whether every object of the tree that holds `x` holds `mask` too; None where there is no such object."""
    return project.knowledge(_objects_with_mask)


def _objects_with_mask(project: Project) -> bool | None:
    found = []
    for module in project.modules:
        for cls in module.classes.values():
            held = {*cls.annotations, *re.findall(r"self\.(\w+)\s*(?::[^=\n]+)?=(?!=)", cls.text)}
            if "x" in held and not project.is_module_class(cls):
                found.append("mask" in held)
        if "SimpleNamespace(" in module.text:
            for node in walk(module.tree):
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func).rsplit(".", 1)[-1] == "SimpleNamespace"
                ):
                    named = {keyword.arg for keyword in node.keywords}
                    found += [bool(named & {"mask", None})] if "x" in named else []
    return all(found) if found else None


def _stored_before(forward: DictForward, node: ast.expr) -> bool:
    if node.lineno > forward.filled_at:
        return True
    branches = forward.branches
    inside_dict_branch = branches is not None and any(
        part.lineno <= node.lineno <= (part.end_lineno or 0) for part in branches[0]
    )
    rebuilt = [
        part.lineno
        for part in forward.nodes
        if isinstance(part, ast.Assign)
        and any(forward.is_obj(target) for target in part.targets)
        and "mask" in ast.unparse(part.value)
    ]
    return not inside_dict_branch and any(line < node.lineno for line in rebuilt)


def object_branch_keeps_object(forward: DictForward) -> ast.stmt | None:
    """The branch for objects, where it does not rebuild the dict and the object is handed on afterwards."""
    branches = forward.branches
    if branches is None or not branches[1]:
        return None
    assigned = [
        node
        for part in branches[1]
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and forward.is_obj(node)
    ]
    if any(isinstance(node.ctx, ast.Store) for node in assigned):
        return None
    last = max(part.end_lineno or 0 for part in (*branches[0], *branches[1]))
    rebuilt = [line for line in _rebound(forward) if line > last]
    later = [node for node in forward.nodes if isinstance(node, ast.Call) and node.lineno > last]
    handed = any(
        forward.is_obj(arg)
        for call in later
        for arg in call.args
        if not any(line <= call.lineno for line in rebuilt)
    )
    return branches[1][0] if handed else None


def _rebound(forward: DictForward) -> list[int]:
    """Lines that bind the parameter to something new."""
    return [
        node.lineno
        for node in forward.nodes
        if isinstance(node, ast.Name) and forward.is_obj(node) and isinstance(node.ctx, ast.Store)
    ]


def is_replaced(forward: DictForward) -> bool:
    """Whether the parameter is bound anew before it is read by key or attribute: by a helper that unpacks it."""
    reads = [
        node.lineno
        for node in forward.nodes
        if isinstance(node, ast.Subscript | ast.Attribute) and forward.is_obj(node.value)
    ]
    return any(line < min(reads, default=0) for line in _rebound(forward))


def stale_block_calls(forward: DictForward) -> Iterator[ast.Call]:
    """Calls of a block on `obj` in a loop that never stores the result back into it."""
    for loop in forward.nodes:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        inner = [node for part in loop.body for node in ast.walk(part)]
        stored = any(
            (forward.is_key(node, "x") and isinstance(node.ctx, ast.Store))  # type: ignore[attr-defined]
            or (forward.is_obj(node) and isinstance(node.ctx, ast.Store))  # type: ignore[attr-defined]
            or (isinstance(node, ast.Call) and ast.unparse(node.func) == f"{forward.name}.update")
            or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and forward.is_obj(node.value))
            for node in inner
        )  # fmt: skip
        if stored:
            continue
        for node in inner:
            called = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == loop.target.id
            )
            if called and any(forward.is_obj(arg) for arg in node.args):  # type: ignore[attr-defined]
                yield node  # type: ignore[misc]
                break
