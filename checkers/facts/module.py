"""The facts of one module: what it binds at module level, its classes, functions and imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..files import again
from ..files.source import SourceFile
from .nodes import as_code, below, children
from .words import holds, words_of


@dataclass(frozen=True)
class Import:
    """A name bound by an import: `module` (absolute or with leading dots) and, for `from` imports, its `attr`."""

    module: str
    attr: str | None
    line: int


@dataclass(frozen=True)
class ImportEdge:
    """One module this file imports.

    `kind` is module, function, typing (under TYPE_CHECKING) or guarded (in a `try` that handles its failure).
    """

    module: str
    names: tuple[str, ...]
    node: ast.Import | ast.ImportFrom
    kind: str


@dataclass(eq=False, repr=False)
class ClassFacts:
    """A class statement. `methods` holds the last definition of each name; `constants` its class-level values."""

    name: str
    node: ast.ClassDef
    module: ModuleFacts
    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)

    @property
    def dotted(self) -> str:
        return f"{self.module.name}.{self.name}"

    @cached_property
    def text(self) -> str:
        """The source of the class, its decorators left out."""
        return self.module.text_of(self.node)

    @cached_property
    def words(self) -> str:
        """Each word of the source once."""
        return words_of(self.text)

    @cached_property
    def of_self(self) -> list[tuple[ast.Attribute, ast.FunctionDef]]:
        """Every `self.name` of the methods, with its method; a static method's `self` is whatever it is given."""
        return [
            (node, method)
            for method in self.methods.values()
            if not any(as_code(decorator) == "staticmethod" for decorator in method.decorator_list)
            for node in sorted(_of_self(method), key=lambda node: (node.lineno, node.col_offset))
        ]

    @cached_property
    def is_dataclass(self) -> bool:
        return any("dataclass" in ast.unparse(decorator) for decorator in self.node.decorator_list)


@dataclass(frozen=True)
class Binding:
    """What a module-level name is bound to. `conditional` bindings stand under `if` or `try`."""

    value: Import | ClassFacts | ast.FunctionDef | ast.expr
    conditional: bool


@dataclass(eq=False, repr=False)
class ModuleFacts:
    """One file. `name` is its dotted module name under its import root; `display` the path that users read."""

    name: str
    path: Path
    display: str
    text: str
    tree: ast.Module
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    classes: dict[str, ClassFacts] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    _said: dict[int, tuple[re.Pattern[str], bool]] = field(default_factory=dict)

    @cached_property
    def words(self) -> str:
        """Each word of the text once, comments and strings included: names are looked for here."""
        return words_of(self.text)

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether the text holds a match."""
        known = self._said.get(id(pattern))  # the hash of a pattern goes over all of it
        if known is None:
            answer = again.said(self.path, pattern)
            if answer is None:
                answer = again.note_said(self.path, pattern, holds(pattern, self.text, self.words))
            known = self._said[id(pattern)] = (pattern, answer)
        return known[1]

    @cached_property
    def folder(self) -> str:
        """The folder of the file."""
        return str(self.path.parent)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def edges(self) -> list[ImportEdge]:
        """Every import of the file, in functions too."""
        return list(_edges(self.tree, "TYPE_CHECKING" in self.words))

    def text_of(self, node: ast.stmt | ast.expr) -> str:
        """The source of a node: its lines, whole."""
        return "\n".join(self.lines[node.lineno - 1 : node.end_lineno])

    def binding(self, name: str) -> Binding | None:
        """The binding a reader of this module sees: the last unconditional one, else the first."""
        found = self.bindings.get(name)
        if not found:
            return None
        return found[-1] if not found[-1].conditional else found[0]

    def absolute(self, module: str) -> str:
        """The absolute name of a possibly relative import (`..a.b`) of this module."""
        level = len(module) - len(module.lstrip("."))
        if not level:
            return module
        parts = self.name.split(".")
        keep = len(parts) - level + (1 if self.is_package else 0)
        base = parts[: max(keep, 0)]
        tail = module[level:]
        return ".".join([*base, tail] if tail else base)


def read_module(name: str, source: SourceFile) -> ModuleFacts:
    """Collect the facts of one parsed file."""
    facts = ModuleFacts(name, source.path, source.display, source.text, source.tree, lines=source.lines)
    _bind_block(facts, source.tree.body, conditional=False)
    return facts


def _bind_block(facts: ModuleFacts, body: list[ast.stmt], conditional: bool) -> None:
    for statement in body:
        _bind_statement(facts, statement, conditional)
        for block in inner_blocks(statement):
            _bind_block(facts, block, conditional=True)


def inner_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks inside a compound statement that run in the same scope."""
    if isinstance(statement, ast.If | ast.For | ast.While):
        yield statement.body
        yield statement.orelse
    elif isinstance(statement, ast.With):
        yield statement.body
    elif isinstance(statement, ast.Try) or type(statement).__name__ == "TryStar":
        yield statement.body  # type: ignore[attr-defined]
        for handler in statement.handlers:  # type: ignore[attr-defined]
            yield handler.body
        yield statement.orelse  # type: ignore[attr-defined]
        yield statement.finalbody  # type: ignore[attr-defined]


def _bind_statement(facts: ModuleFacts, statement: ast.stmt, conditional: bool) -> None:
    def bind(name: str, value: Import | ClassFacts | ast.FunctionDef | ast.expr) -> None:
        facts.bindings.setdefault(name, []).append(Binding(value, conditional))

    if isinstance(statement, ast.Import):
        for alias in statement.names:
            target = alias.name if alias.asname else alias.name.split(".")[0]
            bind(alias.asname or target, Import(target, None, statement.lineno))
    elif isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            if alias.name == "*":
                facts.stars.append(module)
            else:
                bind(alias.asname or alias.name, Import(module, alias.name, statement.lineno))
    elif isinstance(statement, ast.ClassDef):
        cls = _read_class(statement, facts)
        facts.classes[cls.name] = cls
        bind(cls.name, cls)
    elif isinstance(statement, ast.FunctionDef):
        bind(statement.name, statement)
    elif isinstance(statement, ast.Assign):
        for assigned in statement.targets:
            if isinstance(assigned, ast.Name):
                bind(assigned.id, statement.value)
    elif isinstance(statement, ast.AnnAssign):
        if isinstance(statement.target, ast.Name) and statement.value is not None:
            bind(statement.target.id, statement.value)


def _read_class(node: ast.ClassDef, module: ModuleFacts) -> ClassFacts:
    facts = ClassFacts(node.name, node, module)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            if not _is_setter(statement):
                facts.methods[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    facts.constants[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            facts.annotations[statement.target.id] = statement.annotation
            if statement.value is not None:
                facts.constants[statement.target.id] = statement.value
    return facts


_INNER = frozenset((ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def _of_self(function: ast.AST) -> Iterator[ast.Attribute]:
    """Attributes of the `self` of a method; functions in it may have a `self` of their own."""
    nodes = below(function)
    if _INNER.isdisjoint(map(type, nodes)):
        for part in nodes:
            if type(part) is ast.Attribute and type(part.value) is ast.Name and part.value.id == "self":
                yield part
        return
    pending = children(function)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            spec = node.args
            if any(arg.arg == "self" for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)):
                continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node
        pending += children(node)


def _is_setter(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in function.decorator_list
    )


def _edges(tree: ast.Module, speaks_of_typing: bool) -> Iterator[ImportEdge]:
    pending: list[tuple[ast.AST, str]] = [(tree, "module")]
    while pending:
        node, kind = pending.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ImportEdge(alias.name, (), node, kind)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield ImportEdge(module, tuple(alias.name for alias in node.names), node, kind)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += [(child, "function") for child in children(node)]
        elif speaks_of_typing and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending += [(child, "typing" if kind == "module" else kind) for child in node.body]
            pending += [(child, kind) for child in node.orelse]
        elif isinstance(node, ast.Try) and node.handlers:
            pending += [(child, "guarded" if kind == "module" else kind) for child in node.body]
            pending += [
                (child, kind) for part in (node.handlers, node.orelse, node.finalbody) for child in part
            ]
        elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler):
            pending += [(child, kind) for child in children(node) if not isinstance(child, ast.expr)]
