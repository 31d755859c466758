"""The import graph: which module needs which while it is being loaded."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ImportEdge, ModuleFacts
from .distributed import is_named_distributed
from .project import Project


@dataclass(frozen=True, eq=False)
class Edge:
    """`source` loads `target` at module level by `statement`; `names` must be bound in `target` by then."""

    source: ModuleFacts
    target: ModuleFacts
    statement: ast.Import | ast.ImportFrom
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cycle:
    """Edges that lead back to where they began; `entries` are the modules whose import, first of all, fails."""

    edges: tuple[Edge, ...]

    @property
    def always_fails(self) -> bool:
        """Whether the import fails whichever module of the cycle is imported first."""
        return all(
            _is_unbound(self.edges[index - 1], after=self.edges[index]) for index in range(len(self.edges))
        )


@dataclass(frozen=True)
class Read:
    """The modules that were read, and the last parts of their names; a framework's own do not lead back."""

    ids: frozenset[int]
    stems: frozenset[str]


def _is_unbound(closing: Edge, after: Edge) -> bool:
    """Whether a name that closes the cycle is not bound yet when its module stands at the import `after`."""
    line = after.statement.lineno
    for name in closing.names:
        bound = [_line(binding.value) for binding in closing.target.bindings.get(name, ())]
        if bound and min(bound) >= line:
            return True
    return False


def _line(value: object) -> int:
    node = getattr(value, "node", value)
    line: int = getattr(node, "line", 0) or getattr(node, "lineno", 0)
    return line


def is_distributed_module(project: Project, module: ModuleFacts) -> bool:
    """A file of the authors' own that defines a distributed class, or is named so."""
    named = "distributed" in module.path.stem or any(
        is_named_distributed(cls) for cls in module.classes.values()
    )
    return named and not project.is_framework(module)


def distributed_cycles(project: Project) -> list[Cycle]:
    """One shortest cycle through each knot of modules that holds a distributed one; silent about the rest."""
    starts = [module for module in project.modules if is_distributed_module(project, module)]
    ahead = _edges_from(project, starts)
    knots = _knotted(starts, ahead)
    return list(_cycles(knots, ahead)) if knots else []


def _edges_from(project: Project, starts: list[ModuleFacts]) -> dict[ModuleFacts, list[Edge]]:
    """The edges of every module that loading a distributed one leads to, among the files already read."""
    own = [module for module in project.modules if not project.is_framework(module)]
    read = Read(
        frozenset(id(module) for module in own),
        frozenset(module.path.parent.name if module.is_package else module.path.stem for module in own),
    )
    found: dict[ModuleFacts, list[Edge]] = {}
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = [
                edge
                for fact in module.edges
                if fact.kind == "module"
                for edge in _resolve(project, read, module, fact)
            ]
            waiting += [edge.target for edge in found[module]]
    return found


def _resolve(project: Project, read: Read, module: ModuleFacts, fact: ImportEdge) -> Iterator[Edge]:
    dotted = module.absolute(fact.module)
    if isinstance(fact.node, ast.Import):
        for target in _named(project, read, module, dotted):
            yield Edge(module, target, fact.node, ())
        return
    for name in fact.names:
        inner = list(_named(project, read, module, f"{dotted}.{name}"))
        if inner:
            yield from (Edge(module, target, fact.node, ()) for target in inner)
        else:
            for target in _named(project, read, module, dotted):
                if not _has_submodule(project, target, name):
                    yield Edge(module, target, fact.node, (name,))


def _has_submodule(project: Project, package: ModuleFacts, name: str) -> bool:
    """Whether `from package import name` may load a file of its own; one that was not read holds nothing parallel."""
    folder = package.path.parent
    return package.is_package and any(project.files.exists(folder / part) for part in (f"{name}.py", name))


def _named(project: Project, read: Read, near: ModuleFacts, dotted: str) -> Iterator[ModuleFacts]:
    """The module of a name, where its file was read: nothing is loaded from disk for it."""
    if dotted.rpartition(".")[2] in read.stems:
        found = project.find_module(dotted, near)
        if isinstance(found, ModuleFacts) and id(found) in read.ids:
            yield found


def _knotted(starts: list[ModuleFacts], ahead: dict[ModuleFacts, list[Edge]]) -> list[ModuleFacts]:
    """The distributed modules that an import leads back to; most trees have none, and then no graph is built."""
    found = []
    for start in starts:
        seen: set[ModuleFacts] = set()
        waiting = [edge.target for edge in ahead[start]]
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += [edge.target for edge in ahead[module]]
        if start in seen:
            found.append(start)
    return found


def _cycles(knots: list[ModuleFacts], ahead: dict[ModuleFacts, list[Edge]]) -> Iterator[Cycle]:
    import networkx  # only a tree that has a cycle pays for loading it

    graph: networkx.DiGraph[ModuleFacts] = networkx.DiGraph()
    for edges in ahead.values():
        for edge in edges:
            if not graph.has_edge(edge.source, edge.target):
                graph.add_edge(edge.source, edge.target, edge=edge)
    done: set[frozenset[ModuleFacts]] = set()
    for start in sorted(knots, key=lambda module: module.display):
        back = [
            networkx.shortest_path(graph, edge.target, start)
            for edge in ahead[start]
            if networkx.has_path(graph, edge.target, start)
        ]
        path = [start, *min(back, key=len)]
        if frozenset(path) not in done:
            done.add(frozenset(path))
            yield Cycle(tuple(graph.edges[pair]["edge"] for pair in itertools.pairwise(path)))
