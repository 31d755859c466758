"""Forwards that return None where an argument is missing, and callers that allow that and use the result."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import children, walk
from ..project.module_names import written_files
from ..project.project import Project
from ..project.registries import is_wrapper
from .analysis import Analysis
from .module_tree import objects_of


@dataclass(frozen=True, eq=False)
class NoneResult:
    """`used` takes what `callee` returns, which is None (`returned`) where `name` is; `caller` asks whether it is."""

    caller: ClassFacts
    callee: ClassFacts
    module: ModuleFacts
    used: ast.expr
    returned: ast.Return
    name: str


def none_results(analysis: Analysis) -> Iterator[NoneResult]:
    """In the files of stages and distributed modules."""
    project = analysis.project
    files = {id(module) for module in written_files(project)}
    for cls, obj in analysis.built():
        forward = cls.methods.get("forward")
        if id(cls.module) not in files or forward is None:
            continue
        for name, call in _results(forward):
            callee = _held(obj.attrs.get(call.func.attr)) if isinstance(call.func, ast.Attribute) else None
            found = _missing(project, callee) if callee is not None else None
            if callee is None or found is None or not _allows(cls.module.text_of(forward), found[1]):
                continue
            used = _used(forward, name, call)
            if used is not None:
                yield NoneResult(cls, callee, cls.module, used, *found)


def _results(forward: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    """`name = self.part(…)`"""
    for node in forward.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
        ):
            func = node.value.func
            if isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self":
                yield node.targets[0].id, node.value


def _held(value: object) -> ClassFacts | None:
    """The class of a part; what a wrapper built by its style stands for the wrapper."""
    waiting = [value]
    for _ in range(3):
        objs = [obj for item in waiting for obj, condition in objects_of(item, "") if obj and not condition]  # type: ignore[arg-type]
        if len(objs) != 1:
            return None
        facts = objs[0].cls.facts
        if facts is None or not is_wrapper(facts):
            return facts
        waiting = list(objs[0].attrs.values())
    return None


def _missing(project: Project, cls: ClassFacts) -> tuple[ast.Return, str] | None:
    """`if x is None: return None` of a forward, and what `x` is called outside."""
    found = project.method(cls, "forward")
    if found is None:
        return None
    for node in found[1].body:
        test = node.test if isinstance(node, ast.If) else None
        if (
            not isinstance(node, ast.If)
            or not isinstance(test, ast.Compare)
            or not isinstance(test.ops[0], ast.Is)
        ):
            continue
        last = node.body[-1]
        is_none = (
            isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is None
        )
        if is_none and isinstance(last, ast.Return) and isinstance(test.left, ast.Name):
            if ast.unparse(test.comparators[0]) == "None":
                return last, _name_outside(found[1], test.left.id)
    return None


def _name_outside(forward: ast.FunctionDef, name: str) -> str:
    """The key or attribute that a local name is read from; the name itself for an argument."""
    for node in walk(forward):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            value = node.value
            if isinstance(value, ast.Call) and value.args and isinstance(value.args[0], ast.Constant):
                return str(value.args[0].value)
            if isinstance(value, ast.Attribute):
                return value.attr
    return name


def _allows(text: str, name: str) -> bool:
    """Whether a forward takes care of a value that may be missing."""
    word = re.escape(name)
    return bool(
        re.search(rf"\b{word} is (not )?None|\b{word}\s*(:[^=,)]*)?=\s*None|, ['\"]{word}['\"], None\)", text)
    )


def _used(forward: ast.FunctionDef, name: str, made: ast.Call) -> ast.expr | None:
    """The first use of a result that takes it for a tensor; None where a test asks for it first."""
    is_behind = False
    for statement in forward.body:
        if any(part is made for part in walk(statement)):
            is_behind = True
            continue
        if not is_behind:
            continue
        if isinstance(statement, ast.If):
            return None
        for node in walk(statement):
            for child in children(node):
                if isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Load):
                    is_use = isinstance(node, ast.Call | ast.Attribute | ast.BinOp | ast.Subscript)
                    return node if is_use and isinstance(node, ast.expr) else None
    return None
