"""Drop-path ramps computed from the depth of one stage, where the code knows its rank instead of being numbered."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from .project import Project, dotted_name
from .stages import Stages

_OWN_INDEX = re.compile(r"rank|stage", re.IGNORECASE)
_STAGE_COUNT = re.compile(r"^(pp|pp_size|num_stages|n_stages|(?!\w*virtual)\w*pipeline\w*_size)$")
_WORTH = re.compile(r"drop_?(path|rate)|\bdpr\b|stochastic_depth|path_rate", re.IGNORECASE)
_RAMP = re.compile(r"linspace|range")
_RATE = re.compile(r"drop|rate|dpr|ramp|path|stochastic", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class LocalRamp:
    """A ramp over the blocks of one stage only; `depth` is the expression that gives their number."""

    module: ModuleFacts
    node: ast.expr
    depth: str


def local_ramps(project: Project) -> Iterator[LocalRamp]:
    """Ramps from 0 whose length is the depth of the running stage: `depths[rank]`, `depth // pp`."""
    for module in project.knowledge(Stages).rank_aware:
        if not module.says(_WORTH):
            continue
        for scope in walk(module.tree):
            if isinstance(scope, ast.FunctionDef) and _RAMP.search(module.text_of(scope)):
                yield from _in_function(module, scope)


def _in_function(module: ModuleFacts, scope: ast.FunctionDef) -> Iterator[LocalRamp]:
    named: dict[str, ast.expr] = {}
    for node in walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
    for node in walk(scope):
        length = _ramp_length(node)
        if length is None or not isinstance(node, ast.expr):
            continue
        own = _own_depth(length, named)
        if own is not None:
            if _RATE.search(scope.name) or _RATE.search(module.lines[node.lineno - 1]):
                yield LocalRamp(module, node, own)
        elif isinstance(length, ast.Name) and _RATE.search(scope.name):
            given = _argument(module, scope, length.id)
            if given is not None:
                yield LocalRamp(module, node, given)


def _ramp_length(node: ast.AST) -> ast.expr | None:
    """N of `linspace(0, top, N)` or of `[i / (N - 1) * top for i in range(N)]`."""
    if (
        isinstance(node, ast.Call)
        and (dotted_name(node.func) or "").endswith("linspace")
        and len(node.args) >= 3
    ):
        low = node.args[0]
        return node.args[2] if isinstance(low, ast.Constant) and low.value == 0 else None
    if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
        return None
    head = node.generators[0]
    call = head.iter
    if not (isinstance(call, ast.Call) and dotted_name(call.func) == "range" and len(call.args) == 1):
        return None
    index = head.target.id if isinstance(head.target, ast.Name) else ""
    for part in ast.walk(node.elt):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and isinstance(part.left, ast.Name):
            inside = {name.id for name in ast.walk(part.right) if isinstance(name, ast.Name)}
            wanted = {name.id for name in ast.walk(call.args[0]) if isinstance(name, ast.Name)}
            if part.left.id == index and wanted <= inside:
                return call.args[0]
    return None


def _own_depth(node: ast.expr, named: dict[str, ast.expr], hops: int = 0) -> str | None:
    """The text of an expression that is the depth of the running stage only."""
    if isinstance(node, ast.Name) and node.id in named and hops < 4:
        return _own_depth(named[node.id], named, hops + 1)
    if isinstance(node, ast.Subscript) and _OWN_INDEX.search(ast.unparse(node.slice)):
        return ast.unparse(node) if not isinstance(node.slice, ast.Slice) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return ast.unparse(node) if counts_stages(node.right) else None
    return None


def _argument(module: ModuleFacts, scope: ast.FunctionDef, name: str) -> str | None:
    """What all calls of a function in its file give for a parameter, where each is a stage's own depth."""
    names = [arg.arg for arg in scope.args.args]
    if name not in names:
        return None
    position, found = names.index(name), None
    for caller in walk(module.tree):
        if (
            not isinstance(caller, ast.Call)
            or (dotted_name(caller.func) or "").rsplit(".", 1)[-1] != scope.name
        ):
            continue
        at = position - (1 if names[0] == "self" else 0)
        keyword = next((word.value for word in caller.keywords if word.arg == name), None)
        given = keyword or (caller.args[at] if at < len(caller.args) else None)
        found = _own_depth(given, {}) if given is not None else None
        if found is None:
            return None
    return found


def counts_stages(node: ast.expr) -> bool:
    """Whether an expression is the number of pipeline stages."""
    target = node.func if isinstance(node, ast.Call) else node
    return _STAGE_COUNT.match((dotted_name(target) or "").rsplit(".", 1)[-1].removeprefix("get_")) is not None


def same(left: Sequence[float], right: Sequence[float]) -> bool:
    return len(left) == len(right) and all(abs(a - b) < 1e-9 for a, b in zip(left, right, strict=True))


def alike(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two ramps of different length begin and end at the same rate, one step apart at most."""
    step = max((rates[-1] - rates[0]) / max(len(rates) - 1, 1) for rates in (left, right))
    return abs(left[0] - right[0]) <= step + 1e-9 and abs(left[-1] - right[-1]) <= step + 1e-9
