"""The calls of a training script that build its stages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.module import ClassFacts
from .project import Project, dotted_name
from .scopes import Scope
from .stage_maps import StageMap
from .stages import Stage, Stages
from .training import TrainingScript

StageCall = tuple[ast.Call, Scope, Stage]
"""A call, where it stands, and a stage that it builds."""


def build_call(script: TrainingScript) -> tuple[ast.Call, Scope] | None:
    """The one call that builds the stage of the running rank: of an entry of the map."""
    if script.stage_map is None:
        return None
    found = [
        (node, scope) for node, scope in script.calls if _is_entry(script, node.func, scope, script.stage_map)
    ]
    return found[0] if len(found) == 1 else None


def stage_calls(script: TrainingScript) -> Iterator[StageCall]:
    """Every stage that a call of the script builds, through the map or by its name."""
    entry = build_call(script)
    if entry is not None and script.family is not None:
        for stage in script.family.stages:
            yield (*entry, stage)
    stages = script.project.knowledge(Stages)
    for node, scope in script.calls:
        name = dotted_name(node.func)
        ref = _resolved(script.project, script, name) if name is not None else None
        built = stages.of(ref) if ref is not None else None
        if built is not None and built.rank is not None:
            yield node, scope, built


def _resolved(project: Project, script: TrainingScript, name: str) -> ClassFacts | None:
    ref = project.resolve(script.module, name)
    return ref if isinstance(ref, ClassFacts) else None


def _is_entry(
    script: TrainingScript, node: ast.expr | None, scope: Scope, entries: StageMap, depth: int = 0
) -> bool:
    """Whether an expression is an entry of the map: `stages[rank]`, `stages.get(rank)`, a tested class, a name."""
    if node is None or depth > 4:
        return False
    if node is entries.node:  # a class that a test of the rank chose
        return True
    if isinstance(node, ast.Name):
        owner = scope.owner_of(node.id)
        if owner is not None and node.id in owner.parameters:
            given = [
                _is_entry(script, value, place, entries, depth + 1)
                for value, place in _given(script, owner, node.id)
            ]
            return bool(given) and all(given)
        chosen = owner.bound.get(node.id, []) if owner is not None else []
        named = {id(value) for value in entries.named.values()}
        if len(chosen) > 1 and all(id(value) in named for value in chosen):
            return True  # one class in each branch of a test of the rank
        return _is_entry(script, scope.value(node.id), scope, entries, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        holder: ast.expr = node.func.value
    elif isinstance(node, ast.Subscript):
        holder = node.value
    else:
        return isinstance(node, ast.Call) and script.names(node.func, entries)
    name = dotted_name(holder)
    if holder is entries.node or (name is not None and scope.value(name) is entries.node):
        return True
    return script.names(holder, entries)


def _given(script: TrainingScript, owner: Scope, name: str) -> Iterator[tuple[ast.expr | None, Scope]]:
    """What every call of a function of the script hands to one of its parameters."""
    index = owner.parameters.index(name)
    for node, scope in script.calls:
        called = script.function(node.func, scope) if isinstance(node.func, ast.Name) else None
        if called is not None and called.function is owner.function:
            named = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
            yield named or (node.args[index] if index < len(node.args) else None), scope
