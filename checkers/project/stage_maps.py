"""Where a script says which class a pipeline rank builds: a `{rank: Class}` dict, a list, or tests of the rank.

A list and a chain of tests count where every class is named as a numbered stage; a dict counts with any class. A list
or dict may stand in the package of the stages, where the script that asks for its rank looks it up.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import as_code, walk
from .project import FunctionRef, Project, ValueRef, dotted_name

NUMBERED = re.compile(r"(?P<base>\w*[A-Za-z0-9])_?[Ss]tage_?(?P<rank>\d+)$")
PIPELINE = re.compile(
    r"set_input_tensor|input_tensor\b|pipeline_model_parallel|pipeline_parallel|stage_shapes|megatron"
)
RANK = re.compile(
    r"pipeline_model_parallel_(rank|world_size)|is_pipeline_(first|last)_stage|get_pp_rank|pp_rank\b"
)
_ASKED = re.compile(r"\brank\b")
_DICT = re.compile(r"\{\s*(?:#[^\n]*\n\s*)*0\s*:\s*[A-Za-z_]")


@dataclass(frozen=True, eq=False)
class StageMap:
    """Which class each rank builds: `entries` holds the classes that could be found, None for the others.

    `named` holds the expression that names each, `node` the dict, the list or the first test.
    """

    module: ModuleFacts
    node: ast.AST
    entries: dict[int, ClassFacts | None]
    named: dict[int, ast.expr]


def stage_maps(project: Project) -> Iterator[StageMap]:
    """Every map of a project, in files that speak of a pipeline."""
    for module in project.modules:
        is_map, numbered = module.says(_DICT), sum(bool(NUMBERED.match(name)) for name in module.bindings) > 1
        if not (is_map or numbered):
            continue
        speaks = module.says(RANK) or module.says(PIPELINE)
        if not speaks and not (numbered and module.says(_ASKED)):
            if any(name.isupper() or is_map for name in module.bindings):
                yield from _of_package(project, module)
            continue
        later = _later_tests(module) if numbered else set()
        for node in walk(module.tree):
            if type(node) is ast.Dict:
                named = _of_dict(node)
                entries = {rank: mapped_class(project, module, name) for rank, name in named.items()}
                if any(cls is not None for cls in entries.values()):
                    yield StageMap(module, node, entries, named)
            elif numbered and id(node) not in later:
                found = _stages_of(project, module, node)
                if found is not None:
                    yield found


def _of_package(project: Project, module: ModuleFacts) -> Iterator[StageMap]:
    """The maps of a file that does not speak of a pipeline, where another one looks them up."""
    for node in _values(module):
        if isinstance(node, ast.Dict):
            named = _of_dict(node)
        elif isinstance(node, ast.List | ast.Tuple) and all(map(_is_numbered, node.elts)):
            named = dict(enumerate(node.elts))
        else:
            continue
        entries = {rank: mapped_class(project, module, name) for rank, name in named.items()}
        if len(entries) > 1 and any(entries.values()) and id(node) in project.knowledge(_indexed):
            yield StageMap(module, node, entries, named)


def _values(module: ModuleFacts) -> Iterator[ast.expr]:
    """What the names of a module are bound to."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            yield statement.value


def _indexed(project: Project) -> set[int]:
    """The values of other files that files which ask for their pipeline rank index at no written number."""
    found = set()
    for module in project.modules:
        if not module.says(RANK):
            continue
        for node in walk(module.tree):
            held = _looked_up(node)
            name = dotted_name(held) if held is not None else None
            if name is not None and name.split(".")[0] in module.bindings:
                ref = project.resolve(module, name)
                if isinstance(ref, ValueRef) and ref.module is not module:
                    found.add(id(ref.node))
    return found


def _looked_up(node: ast.AST) -> ast.expr | None:
    """What `held[rank]` or `held.get(rank)` looks up."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant | ast.Slice):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return node.func.value
    return None


def names_map(project: Project, module: ModuleFacts, node: ast.expr, found: StageMap) -> bool:
    """Whether an expression of another file names the map, or the function that it stands in."""
    name = dotted_name(node)
    ref = project.resolve(module, name) if name is not None else None
    if isinstance(ref, ValueRef):
        return ref.node is found.node
    return (
        isinstance(ref, FunctionRef)
        and ref.module is found.module
        and any(part is found.node for part in walk(ref.node))
    )


def mapped_class(project: Project, module: ModuleFacts, node: ast.expr) -> ClassFacts | None:
    """The class a name of a map means; imports inside functions count."""
    name = dotted_name(node) or ""
    ref = project.resolve(module, name)
    if ref is None:
        for edge in module.edges:
            if name in edge.names and edge.kind == "function":
                target = project.find_module(module.absolute(edge.module), module)
                if isinstance(target, ModuleFacts):
                    ref = project.resolve(target, name)
    return ref if isinstance(ref, ClassFacts) else None


def _of_dict(node: ast.Dict) -> dict[int, ast.expr]:
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    if len(keys) < 2 or not all(type(key) is int for key in keys):
        return {}
    if not all(dotted_name(value) for value in node.values):
        return {}
    return dict(zip(keys, node.values, strict=True))  # type: ignore[arg-type]  # all are whole numbers


def _stages_of(project: Project, module: ModuleFacts, node: ast.AST) -> StageMap | None:
    """A list of stage classes that a rank looks up, or the tests of a rank that lead to them."""
    named: dict[int, ast.expr] = {}
    if isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        named = dict(enumerate(node.elts)) if all(map(_is_numbered, node.elts)) else {}
        if named and not _is_looked_up(module, node) and id(node) not in project.knowledge(_indexed):
            return None
    elif isinstance(node, ast.If | ast.IfExp):
        named = _of_tests(node)
    elif isinstance(node, ast.FunctionDef):
        named = _of_returns(node)
    entries = {rank: mapped_class(project, module, name) for rank, name in named.items()}
    if len(entries) < 2 or not all(entries.values()):
        return None
    if isinstance(node, ast.FunctionDef):
        node = next((part for part in node.body if isinstance(part, ast.If)), node)
    return StageMap(module, node, entries, named)


def _later_tests(module: ModuleFacts) -> set[int]:
    """Tests that an earlier one leads to: they are part of its chain."""
    found = set()
    for node in walk(module.tree):
        if isinstance(node, ast.If | ast.IfExp):
            rest = node.orelse if isinstance(node.orelse, list) else [node.orelse]
            found |= {id(part) for part in rest if isinstance(part, ast.If | ast.IfExp)}
    return found


def _is_numbered(node: ast.expr) -> bool:
    return NUMBERED.match((dotted_name(node) or "").rsplit(".", 1)[-1]) is not None


def _is_looked_up(module: ModuleFacts, node: ast.AST) -> bool:
    """Whether the list, or a name that holds it, is read at an index that is no number."""
    holders = {
        as_code(target)
        for other in walk(module.tree)
        if isinstance(other, ast.Assign) and other.value is node
        for target in other.targets
    }
    return any(
        isinstance(other, ast.Subscript)
        and (other.value is node or as_code(other.value) in holders)
        and not isinstance(other.slice, ast.Constant | ast.Slice)
        for other in walk(module.tree)
    )


def _of_tests(node: ast.If | ast.IfExp) -> dict[int, ast.expr]:
    """`if rank == 0: … elif rank == 1: … else: …`, or the same as an expression, with one stage in each branch."""
    found: dict[int, ast.expr] = {}
    asked = ""
    rest: object = node
    while isinstance(rest, ast.If | ast.IfExp):
        test, name = _asked(rest.test), _only_stage(rest.body)
        if test is None or name is None or test[0] != (asked or test[0]) or test[1] in found:
            return {}
        asked, found[test[1]] = test[0], name
        rest = rest.orelse[0] if isinstance(rest.orelse, list) and len(rest.orelse) == 1 else rest.orelse
    last = _only_stage(rest) if isinstance(rest, list | ast.AST) else None
    if last is not None:
        found[max(found) + 1] = last
    return found


def _of_returns(function: ast.FunctionDef) -> dict[int, ast.expr]:
    """`if rank == 0: return …` one below the other, and a last return."""
    found: dict[int, ast.expr] = {}
    asked = ""
    for part in function.body:
        if isinstance(part, ast.If) and not part.orelse and isinstance(part.body[-1], ast.Return):
            test, name = _asked(part.test), _only_stage(part.body)
            if test is None or name is None or test[0] != (asked or test[0]) or test[1] in found:
                return {}
            asked, found[test[1]] = test[0], name
        elif found:
            last = _only_stage(part)
            if last is not None and isinstance(part, ast.Return):
                found[max(found) + 1] = last
            return found
    return found


def _asked(test: ast.expr) -> tuple[str, int] | None:
    """What a test compares with a whole number."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    number = test.comparators[0]
    if not isinstance(number, ast.Constant) or type(number.value) is not int:
        return None
    code = as_code(test.left)
    return (code, number.value) if "rank" in code else None


def _only_stage(part: object) -> ast.expr | None:
    """The one stage class that a branch names."""
    parts = part if isinstance(part, list) else [part]
    names = {
        as_code(node): node
        for entry in parts
        if isinstance(entry, ast.AST)
        for node in walk(entry)
        if isinstance(node, ast.Name | ast.Attribute) and _is_numbered(node)
    }
    return next(iter(names.values())) if len(names) == 1 else None
