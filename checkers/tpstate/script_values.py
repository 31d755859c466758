"""Numbers that a script or constructor spells out: literals, YAML values and arithmetic, folded by the interpreter."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ..facts.nodes import copied
from ..project.config_reads import Configs
from ..project.project import Project
from ..project.scopes import Scope
from ..project.yaml_config import MissingKey, look_up
from . import expressions, indexing, statements
from .frames import Frame, OutOfFuel
from .interpreter import Interpreter
from .values import Const, Value

_FUEL = 3_000

_MAX_DEPTH = 12

_PLAIN = (int, float, str, bool)


class ScriptValues:
    """Evaluates expressions of one function.

    `configs` gives the YAML values of a script; `given` the arguments that a constructor is called with, as Python
    values. What is not known stays a name, so that arithmetic with it gives nothing.
    """

    def __init__(
        self, project: Project, configs: Configs | None = None, given: Mapping[str, Any] | None = None
    ) -> None:
        self.project, self.configs = project, configs
        self.given = dict(given or {})
        self.interpreter = Interpreter(project)
        self.interpreter.fuel = _FUEL
        self._own: set[str] = set()

    def value(self, node: ast.expr | None, scope: Scope) -> Any:
        """The number, text or tuple of them that an expression gives; None where it cannot be told."""
        if node is None:
            return None
        closed = ast.fix_missing_locations(ast.copy_location(self._closed(node, scope, 0), node))
        return self._run(closed, scope)

    def _run(self, node: ast.expr, scope: Scope) -> Any:
        interp = self.interpreter
        interp.frame, interp.fuel, interp.depth = Frame(scope.module), _FUEL, 0
        interp.branch, interp.choice = {}, {}
        try:
            if scope.function is not None:
                imports: list[ast.stmt] = [*scope.of(ast.Import, ast.ImportFrom)]
                statements.run_block(interp, interp.frame, imports)
            return self._python(interp.settle(expressions.evaluate(interp, interp.frame, node)))
        except (OutOfFuel, RecursionError):
            return None

    def _python(self, value: Value) -> Any:
        if isinstance(value, Const):
            return value.value
        items = indexing.as_seq(self.interpreter, value)
        if items is None or items.rest is not None:
            return None
        found = tuple(self._python(item) for item in items.items)
        return None if None in found else found

    def _closed(self, node: ast.expr, scope: Scope, depth: int) -> ast.expr:
        """The expression with names replaced by what they are bound to, and config reads by what the file holds."""
        if depth > _MAX_DEPTH or isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._comprehension(node, scope, depth)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            literal = self._from_config(node, scope)
            if literal is not None:
                return literal
        if isinstance(node, ast.Name):
            return self._name(node, scope, depth)
        closed = copied(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(closed, field, self._closed(value, scope, depth + 1))
            elif isinstance(value, list):
                parts = [
                    self._closed(part, scope, depth + 1) if isinstance(part, ast.expr) else part
                    for part in value
                ]
                setattr(closed, field, [self._keyword(part, scope, depth) for part in parts])
        return closed

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope, depth: int) -> ast.expr:
        """A comprehension: its own variables keep their names."""
        own = {
            part.id
            for loop in node.generators
            for part in ast.walk(loop.target)
            if isinstance(part, ast.Name)
        }
        outer, self._own = self._own, self._own | own
        loops = [copied(loop) for loop in node.generators]
        for loop in loops:
            loop.iter = self._closed(loop.iter, scope, depth + 1)
            loop.ifs = [self._closed(part, scope, depth + 1) for part in loop.ifs]
        closed = type(node)(self._closed(node.elt, scope, depth + 1), loops)
        self._own = outer
        return closed

    def _keyword(self, node: Any, scope: Scope, depth: int) -> Any:
        return (
            ast.keyword(node.arg, self._closed(node.value, scope, depth + 1))
            if isinstance(node, ast.keyword)
            else node
        )

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> ast.expr:
        owner = scope.owner_of(node.id)
        if owner is None or node.id in self._own:
            return node
        if node.id in owner.parameters:
            is_known = node.id in self.given and node.id not in owner.bound
            return _literal(self.given[node.id]) or node if is_known else node
        item = owner.item(node.id)
        if item is not None:
            source = self._closed(item.source, owner, depth + 1)
            if isinstance(source, ast.GeneratorExp):  # unpacked as a list would be
                source = ast.ListComp(source.elt, source.generators)
            return ast.Subscript(source, ast.Constant(item.index), ast.Load())
        bound = owner.value(node.id)
        return node if bound is None else self._closed(bound, owner, depth + 1)

    def _from_config(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        found = self.configs.source(node, scope) if self.configs is not None else None
        if found is None or found[0].problem or found[0].file is None or found[1] == found[0].keys:
            return None
        try:
            return _literal(look_up(found[0].file.data, found[1]))
        except MissingKey:
            return None


def _literal(value: Any) -> ast.expr | None:
    """A value as an expression, if it is made of plain numbers and texts."""
    return ast.parse(repr(value), mode="eval").body if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return isinstance(value, _PLAIN)
