"""The modules that a class holds by attribute, as its constructor writes them, and what their forwards read."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .project import Project
from .scopes import Scope


class Submodules:
    """`project.knowledge(Submodules)`: classes of attributes, each looked up once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._held: dict[int, dict[str, ClassFacts]] = {}
        self._unread: dict[int, frozenset[str]] = {}

    def of(self, cls: ClassFacts, attr: str) -> ClassFacts | None:
        """The class of the tree that `self.attr` surely holds: every assignment of the constructor builds it."""
        if id(cls) not in self._held:
            self._held[id(cls)] = self._find(cls)
        return self._held[id(cls)].get(attr)

    def _find(self, cls: ClassFacts) -> dict[str, ClassFacts]:
        found = self.project.method(cls, "__init__")
        if found is None:
            return {}
        held: dict[str, ClassFacts] = {}
        for name, values in Scope(found[0].module, found[1]).bound.items():
            refs = [
                self.project.resolve_expression(found[0].module, value.func)
                for value in values
                if isinstance(value, ast.Call)
            ]
            first = refs[0] if len(refs) == len(values) else None
            if (
                name.startswith("self.")
                and isinstance(first, ClassFacts)
                and all(ref is first for ref in refs)
            ):
                held[name.removeprefix("self.")] = first
        return held

    def positions_unread(self, cls: ClassFacts) -> tuple[frozenset[int], frozenset[str]]:
        """The places and names of the arguments that the forward of a class never reads."""
        found = self.project.method(cls, "forward")
        if found is None or found[1].args.vararg is not None:
            return frozenset(), frozenset()
        if id(cls) not in self._unread:
            self._unread[id(cls)] = _never_read(found[1])
        unread = self._unread[id(cls)]
        names = [arg.arg for arg in (*found[1].args.posonlyargs, *found[1].args.args)][1:]
        return frozenset(index for index, name in enumerate(names) if name in unread), unread


def _never_read(forward: ast.FunctionDef) -> frozenset[str]:
    read = {
        node.id for node in walk(forward) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    if "locals" in read:
        return frozenset()
    spec = forward.args
    return frozenset(
        arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if arg.arg not in read
    )
