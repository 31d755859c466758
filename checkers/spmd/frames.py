"""A function with what its parameters were given: where a name comes from, and what a call enters."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar

from ..facts.module import ClassFacts, Import, ModuleFacts
from ..facts.nodes import walk
from ..project.places import in_tests
from ..project.project import External, FunctionRef, Project, Ref, ValueRef, dotted_name
from ..project.scopes import Opaque, Scope, own_nodes

Definition = tuple[ast.expr, "Frame"]

N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Frame:
    """One function as it runs; `given` holds the arguments that a followed call passed. Nothing changes a frame."""

    project: Project
    scope: Scope
    cls: ClassFacts | None = None
    given: dict[str, Definition] = field(default_factory=dict)
    depth: int = 0
    kept: dict[tuple[object, ast.AST, int], object] = field(default_factory=dict)

    @property
    def module(self) -> ModuleFacts:
        return self.scope.module

    @property
    def function_name(self) -> str:
        """Empty at module level."""
        return self.scope.function.name if self.scope.function is not None else ""

    # -- names ----------------------------------------------------------------------------------------------------

    def definitions(self, node: ast.expr) -> list[Definition]:
        """The expressions that a name or `self.x` may hold; empty where that cannot be told."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._attribute(node.attr)
        name = node.id if isinstance(node, ast.Name) else None
        if name is None:
            ref = self.ref(node) if isinstance(node, ast.Attribute) else None
            return self._value(ref)
        owner = self.scope.owner_of(name)
        if owner is None or owner.function is None:
            return self._value(self.project.resolve(self.module, name))
        if name in owner.parameters and name not in owner.bound:
            return [self.given[name]] if name in self.given and owner is self.scope else []
        found = owner.bound.get(name, [])
        if name in owner.parameters or any(isinstance(value, Opaque) for value in found):
            return []
        return [(value, self) for value in found]

    def _value(self, ref: Ref | None) -> list[Definition]:
        if not isinstance(ref, ValueRef):
            return []
        top = self.project.knowledge(Scopes).top(ref.module)
        return [(ref.node, Frame(self.project, top, None, {}, self.depth))]

    def _attribute(self, attr: str) -> list[Definition]:
        if self.cls is None:
            return []
        held = self.project.knowledge(Attributes).of(self.cls).get(attr, [])
        if any(isinstance(value, Opaque) for value, _ in held):
            return []
        return [(value, Frame(self.project, scope, self.cls, {}, self.depth)) for value, scope in held]

    def ref(self, node: ast.expr) -> Ref | None:
        """What a dotted name means here: a function, class or module of the tree, or something outside it."""
        dotted = dotted_name(node)
        if dotted is None:
            return None
        refs = self.project.knowledge(Scopes).refs
        known = refs.get(self.scope)
        if known is None:
            known = refs[self.scope] = {}
        if dotted not in known:
            known[dotted] = self._found(dotted)
        return known[dotted]

    def _found(self, dotted: str) -> Ref | None:
        head, *rest = dotted.split(".")
        owner = self.scope.owner_of(head)
        if owner is not None and owner.function is not None:
            return None
        ref = self._imported_here(head) or self.project.resolve(self.module, head)
        for attr in rest:
            ref = self.project.attribute(ref, attr, self.module) if ref is not None else None
        return ref

    def _imported_here(self, name: str) -> Ref | None:
        """What an import statement inside the function, or one around it, binds."""
        scope: Scope | None = self.scope
        scopes = self.project.knowledge(Scopes)
        while scope is not None and scope.function is not None:
            found = scopes.imports(scope).get(name)
            if found is not None:
                return self.project.imported(self.module, found)
            scope = scope.outer
        return None

    # -- calls ----------------------------------------------------------------------------------------------------

    def callee(self, call: ast.Call) -> Frame | None:
        """The function of the tree that a call enters, with its arguments bound."""
        return callee(call, self)

    def _callee(self, call: ast.Call) -> Frame | None:
        func = call.func
        if isinstance(func, ast.Name):
            local = self.scope.find_function(func.id)
            if local is not None:
                return self._enter(local, self.cls, call, skip=0)
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self":
            found = self.project.method(self.cls, func.attr) if self.cls is not None else None
            if found is None or any(dotted_name(d) == "property" for d in found[1].decorator_list):
                return None
            skip = 0 if any(dotted_name(d) == "staticmethod" for d in found[1].decorator_list) else 1
            return self._enter(self.scope_of(found[0].module, found[1]), self.cls, call, skip)
        ref = self.ref(func)
        if isinstance(ref, FunctionRef):
            return self._enter(self.scope_of(ref.module, ref.node), None, call, skip=0)
        return None

    def scope_of(self, module: ModuleFacts, function: ast.FunctionDef) -> Scope:
        return self.project.knowledge(Scopes).of(module, function)

    def _enter(self, scope: Scope, cls: ClassFacts | None, call: ast.Call, skip: int) -> Frame | None:
        if scope.function is None or any(isinstance(arg, ast.Starred) for arg in call.args):
            return None
        spec = scope.function.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        given: dict[str, Definition] = {}
        if spec.defaults or spec.kwonlyargs:
            here = Frame(self.project, self.project.knowledge(Scopes).top(scope.module), None, {}, self.depth)
            for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
                given[name] = (default, here)
            for arg, kw_default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
                if kw_default is not None:
                    given[arg.arg] = (kw_default, here)
        for name, value in zip(names[skip:], call.args, strict=False):
            given[name] = (value, self)
        for keyword in call.keywords:
            if keyword.arg is None:
                return Frame(self.project, scope, cls, {}, self.depth + 1)
            given[keyword.arg] = (keyword.value, self)
        return Frame(self.project, scope, cls, given, self.depth + 1)

    def called(self, func: ast.expr) -> str:
        """The last part of a called name, as the module that it is imported from calls it."""
        if isinstance(func, ast.Name):
            held = self.module.bindings.get(func.id)
            bound = held[-1].value if held else None
            return bound.attr if isinstance(bound, Import) and bound.attr else func.id
        return func.attr if isinstance(func, ast.Attribute) else ""

    def argument(self, call: ast.Call, name: str, position: int) -> ast.expr | None:
        """An argument of a call by keyword or place."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        return call.args[position] if 0 <= position < len(call.args) else None

    def external(self, node: ast.expr) -> str:
        """The dotted name outside the tree that an expression means, or an empty text."""
        ref = self.ref(node)
        return ref.dotted if isinstance(ref, External) else ""


def kept(question: Callable[[N, Frame, int], T]) -> Callable[..., T]:
    """Keep the answers to a question about nodes on the frame: they never change."""

    @wraps(question)
    def asked(node: N, frame: Frame, depth: int = 0) -> T:
        key = (question, node, depth)
        if key not in frame.kept:
            frame.kept[key] = question(node, frame, depth)
        return frame.kept[key]  # type: ignore[return-value]

    return asked


@kept
def callee(call: ast.Call, frame: Frame, _: int) -> Frame | None:
    """The function of the tree that a call enters."""
    return frame._callee(call)


class Scopes:
    """One scope for each function, so that what is in it is listed once."""

    def __init__(self, project: Project) -> None:
        self._tops: dict[int, Scope] = {}
        self._scopes: dict[int, Scope] = {}
        self._imports: dict[Scope, dict[str, Import]] = {}
        self.frames: dict[ModuleFacts, list[Frame]] = {}
        self.refs: dict[Scope, dict[str, Ref | None]] = {}

    def top(self, module: ModuleFacts) -> Scope:
        return self._tops.setdefault(id(module), Scope(module))

    def of(self, module: ModuleFacts, function: ast.FunctionDef) -> Scope:
        """The scope of a function at module level or of a method."""
        if id(function) not in self._scopes:
            self._scopes[id(function)] = Scope(module, function, self.top(module))
        return self._scopes[id(function)]

    def imports(self, scope: Scope) -> dict[str, Import]:
        """What the import statements inside a function bind."""
        if scope not in self._imports:
            self._imports[scope] = dict(_imports(scope))
        return self._imports[scope]


def _imports(scope: Scope) -> Iterator[tuple[str, Import]]:
    for node in scope.nodes:
        if type(node) is ast.ImportFrom:
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield alias.asname or alias.name, Import(module, alias.name, node.lineno)
        elif type(node) is ast.Import:
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.split(".")[0]
                yield alias.asname or target, Import(target, None, node.lineno)


class Attributes:
    """What each attribute of a class is assigned, over all its methods and those of its bases in the tree."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._found: dict[int, dict[str, list[tuple[ast.expr, Scope]]]] = {}

    def of(self, cls: ClassFacts) -> dict[str, list[tuple[ast.expr, Scope]]]:
        """Expressions by attribute; an unpacking or a loop leaves an opaque entry."""
        if id(cls) not in self._found:
            found: dict[str, list[tuple[ast.expr, Scope]]] = {}
            for entry in self.project.mro(cls):
                if isinstance(entry, ClassFacts):
                    for method in entry.methods.values():
                        scope = self.project.knowledge(Scopes).of(entry.module, method)
                        for name, values in scope.bound.items():
                            if name.startswith("self.") and name.count(".") == 1:
                                found.setdefault(name[5:], []).extend((value, scope) for value in values)
            self._found[id(cls)] = found
        return self._found[id(cls)]


def functions(project: Project, *marks: re.Pattern[str]) -> Iterator[Frame]:
    """Every function and method of the files whose text holds all the marks.

    A framework copied into another package is known by contract; tests set up small meshes of their own.
    """
    for module in project.modules:
        if not all(module.says(mark) for mark in marks):
            continue
        if not (project.is_copied_framework(module) or in_tests(module.display)):
            yield from module_functions(project, module)


def module_functions(project: Project, module: ModuleFacts) -> list[Frame]:
    """Every function and method of a file, listed once."""
    scopes = project.knowledge(Scopes)
    if module not in scopes.frames:
        scopes.frames[module] = [
            Frame(project, inner, cls)
            for function, cls in _defined(module)
            for inner in scopes.of(module, function).all_scopes()
        ]
    return scopes.frames[module]


def _defined(module: ModuleFacts) -> Iterator[tuple[ast.FunctionDef, ClassFacts | None]]:
    for statement in module.tree.body:
        for node in own_nodes(statement):
            if isinstance(node, ast.FunctionDef):
                yield node, None
    for cls in module.classes.values():
        for node in cls.node.body:
            if isinstance(node, ast.FunctionDef):
                yield node, cls


def returns(frame: Frame) -> list[ast.expr]:
    """What a function returns, in source order."""
    return [node.value for node in frame.scope.of(ast.Return) if node.value is not None]


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}
