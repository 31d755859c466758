"""Axes of tensors inside one function: which sizes lie behind which in memory, by the names that the code gives them.

A `view` or `reshape` moves no axes: it cuts and joins what lies side by side. Names come from `b, n, c = x.shape` and
from the sizes of views; `permute` and `transpose` move them.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from ..facts.nodes import children
from .axis_names import Held
from .axis_values import Values
from .project import Project
from .scopes import lines_with

_SKEWS = re.compile(r"shift|skew|rel_")
"""Relative positions are moved by viewing a padded matrix with its two axes exchanged."""


@dataclass(eq=False)
class Read(Values):
    """One function read from top to bottom."""

    def run(self) -> Read:
        """Read the whole function."""
        for arg in self.function.args.args:
            self._env.setdefault(arg.arg, Held())
        self._body(self.function.body)
        return self

    # -- statements ------------------------------------------------------------------------------------------------

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign):
                value = self.value(statement.value)
                for target in statement.targets:
                    self.assign(target, value, statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self.assign(statement.target, self.value(statement.value), statement.value)
            elif isinstance(statement, ast.Expr | ast.Return) and statement.value is not None:
                self.value(statement.value)
            elif isinstance(statement, ast.With):
                self._body(statement.body)
            elif isinstance(statement, ast.If | ast.For | ast.While | ast.Try):
                self._branches(statement)
            elif isinstance(statement, ast.AugAssign | ast.Delete | ast.FunctionDef | ast.ClassDef):
                self.forget(statement)

    def _branches(self, statement: ast.If | ast.For | ast.While | ast.Try) -> None:
        """Each branch by itself; behind them a name is what it is after each, or unknown."""
        if isinstance(statement, ast.For | ast.While):
            self.forget(statement)
        before = dict(self._env)
        handlers = statement.handlers if isinstance(statement, ast.Try) else []
        ends = []
        for body in (statement.body, statement.orelse, *(handler.body for handler in handlers)):
            self._env = dict(before)
            self._body(body)
            if not (body and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue)):
                ends.append(self._env)
        self._env = dict(before)
        self.forget(statement)
        for name in [name for name, value in self._env.items() if value is not before.get(name)]:
            same = [end.get(name) for end in ends]
            first = same[0] if same else None
            if isinstance(first, Held) and first.axes is not None:
                if all(isinstance(value, Held) and value.axes == first.axes for value in same):
                    self._env[name] = first


class Axes:
    """Every function of the files asked about that views tensors or attends, read once."""

    def __init__(self, project: Project) -> None:
        asked = [module for module in project.followed if project.is_asked(module)]
        self.readings = [(module, read) for module in asked for read in readings(module)]


def readings(module: ModuleFacts) -> Iterator[Read]:
    """The functions of a file that view tensors or attend."""
    words = ("reshape(", ".view(", "permute(", "attention(")
    lines = sorted(set().union(*(lines_with(module.text, word) for word in words)))
    waiting: list[ast.AST] = [module.tree] if lines else []
    while waiting:
        for node in children(waiting.pop()):
            if isinstance(node, ast.FunctionDef):
                at = bisect.bisect_left(lines, node.lineno)
                is_near = at < len(lines) and lines[at] <= (node.end_lineno or node.lineno)
                if is_near and not _SKEWS.search(node.name):
                    yield Read(node).run()
            if isinstance(node, ast.ClassDef | ast.If | ast.Try):
                waiting.append(node)
