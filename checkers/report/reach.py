"""What a model's code leads to: the classes and functions that its stages and scripts name, and what these name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..facts.module import ClassFacts, ModuleFacts
from ..project.project import FunctionRef, Project, ValueRef

Start = tuple[ModuleFacts, ast.AST]


class Reach:
    """Classes and functions, by following names from `starts`; the training framework left out.

    A table of a registry is not followed: it names the modules of all models, and which of them a style means is known
    by the tree of modules.
    """

    def __init__(self, project: Project, starts: Iterable[Start]) -> None:
        self._project = project
        self.found: dict[int, Start] = {}
        waiting = list(starts)
        while waiting:
            module, node = waiting.pop()
            if id(node) not in self.found and not project.is_framework(module):
                self.found[id(node)] = module, node
                waiting += self._named(module, node)

    @property
    def modules(self) -> list[ModuleFacts]:
        """The files that hold something of it."""
        return list({module.path: module for module, _ in self.found.values()}.values())

    def texts(self) -> Iterator[tuple[ModuleFacts, str]]:
        """The source of every class and function."""
        for module, node in self.found.values():
            whole = not isinstance(node, ast.stmt)
            yield module, module.text if whole else module.text_of(node)  # type: ignore[arg-type]

    def _named(self, module: ModuleFacts, node: ast.AST) -> Iterator[Start]:
        for part in ast.walk(node):
            if isinstance(part, ast.ImportFrom):
                dotted = module.absolute("." * part.level + (part.module or ""))
                source = self._project.find_module(dotted, module)
                refs = [self._project.attribute(source, alias.name, module) for alias in part.names if source]
            elif isinstance(part, (ast.Name, ast.Attribute)):
                dotted_parts = ast.unparse(part) if _is_dotted(part) else ""
                refs = [self._project.resolve(module, dotted_parts)] if dotted_parts else []
            else:
                continue
            for ref in refs:
                is_table = isinstance(ref, ValueRef) and isinstance(ref.node, ast.Dict)
                if isinstance(ref, (ClassFacts, FunctionRef, ValueRef)) and not is_table:
                    yield ref.module, ref.node


def _is_dotted(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
