"""Registries: module-level tables from a style to the class that it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..files import disk
from ..language import tr
from .project import External, Project, ValueRef, dotted_name

_NAME = re.compile(r"_?([A-Z0-9]+_)*REGISTR(Y|IES)$")


@dataclass(frozen=True, eq=False)
class Entry:
    """One style. `target` is its class, None where it leads out of the tree or cannot be told; `missing` says what a
    named module or class lacks."""

    style: str
    node: ast.expr
    target: ClassFacts | None
    missing: str = ""


@dataclass(frozen=True, eq=False)
class Registry:
    """`NAME = {style: class, or (module, class), or "module.class"}` of one module."""

    name: str
    module: ModuleFacts
    node: ast.Dict
    entries: tuple[Entry, ...]

    @property
    def is_closed(self) -> bool:
        """Whether the table is all there is: no `**` in it, and no key that is computed."""
        return len(self.entries) == len(self.node.keys)


def registries(project: Project) -> list[Registry]:
    """Every registry of the tree, in file order; read once."""
    return project.knowledge(_read)


def _read(project: Project) -> list[Registry]:
    found = []
    for module in project.modules:
        if "REGISTR" not in module.text:
            continue
        for name, bindings in module.bindings.items():
            for binding in bindings:
                table = _table(binding.value) if _NAME.match(name) else None
                if table is not None:
                    found.append(Registry(name, module, table, tuple(_entries(project, module, table))))
    return found


def _table(value: object) -> ast.Dict | None:
    """A dict that is written down; `dict(Style=Class)` is one."""
    if isinstance(value, ast.Call) and dotted_name(value.func) == "dict" and not value.args:
        keys: list[ast.expr | None] = [
            ast.Constant(word.arg) if word.arg is not None else None for word in value.keywords
        ]
        table = ast.Dict(keys, [word.value for word in value.keywords])
        return ast.fix_missing_locations(ast.copy_location(table, value))
    return value if isinstance(value, ast.Dict) else None


def _entries(project: Project, module: ModuleFacts, table: ast.Dict) -> Iterator[Entry]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            target, missing = _target(project, module, value)
            yield Entry(key.value, value, target, missing)


def _target(project: Project, module: ModuleFacts, value: ast.expr) -> tuple[ClassFacts | None, str]:
    if isinstance(value, ast.Tuple | ast.List):
        parts = [
            part.value
            for part in value.elts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        if len(parts) == 2 and len(value.elts) == 2:
            return _named(project, module, parts[0], parts[1])
        return None, ""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        dotted, _, name = value.value.replace(":", ".").rpartition(".")
        return _named(project, module, dotted, name) if dotted else (None, "")
    dotted = dotted_name(value) or ""
    ref = project.resolve(module, dotted) if dotted else None
    if isinstance(ref, ClassFacts):
        return ref, ""
    if isinstance(ref, External):
        holder, _, name = ref.dotted.rpartition(".")
        home = project.find_module(holder, module) if holder else None
        if isinstance(home, ModuleFacts) and not _binds(project, home, name):
            return None, tr("module `%(holder)s` does not define `%(name)s`", holder=holder, name=name)
        if (
            home is None
            and holder
            and any(edge.kind == "module" and name in edge.names for edge in module.edges)
        ):
            return None, _absent(project, module, holder)
    return None, ""


def _named(project: Project, module: ModuleFacts, dotted: str, name: str) -> tuple[ClassFacts | None, str]:
    home = project.find_module(module.absolute(dotted), module)
    if home is None:
        return None, _absent(project, module, dotted)
    if not isinstance(home, ModuleFacts):
        return None, ""
    ref = project.attribute(home, name, module)
    if isinstance(ref, ClassFacts):
        return ref, ""
    return None, "" if ref is not None or _binds(project, home, name) else tr(
        "module `%(dotted)s` does not define `%(name)s`", dotted=dotted, name=name
    )


def _absent(project: Project, module: ModuleFacts, dotted: str) -> str:
    """A module that is not there, though its package is this tree's own and can be seen whole."""
    package = module.absolute(dotted).rpartition(".")[0]
    home = project.find_module(package, module) if package else None
    own = home is not None and module.name.split(".")[0] == package.split(".")[0]
    if (
        not own
        or (isinstance(home, ModuleFacts) and not home.is_package)
        or not dotted.replace(".", "").isidentifier()
    ):
        return ""
    return (
        tr("there is no module `%(dotted)s`", dotted=dotted)
        if unreadable(project, module, dotted) is None
        else ""
    )


def unreadable(project: Project, module: ModuleFacts, dotted: str) -> str | None:
    """The module's file where it exists and could not be read: that is no fault of the registry."""
    base = project.root_of(module.path).joinpath(*module.absolute(dotted).split("."))
    candidates = (base.with_name(f"{base.name}.py"), base / "__init__.py", base.with_name(f"{base.name}.pyi"))
    found = [path for path in candidates if project.files.exists(path)]
    found += [
        path
        for path in disk.matching(base.parent, f"{base.name}.*")
        if path.suffix in (".so", ".pyd", ".pyx")
    ]
    return str(found[0]) if found else None


def _binds(project: Project, module: ModuleFacts, name: str) -> bool:
    """Whether a module may define a name: by a binding, a star import, or a `__getattr__` or `globals()` of its own."""
    dynamic = "__getattr__" in module.bindings or bool(module.stars) or "globals()" in module.text
    return dynamic or module.binding(name) is not None or isinstance(project.resolve(module, name), ValueRef)


def written_style(call: ast.Call) -> str | None:
    """The style that a call asks a wrapper for: `OneFuser(style="IceFuser")`, `OneFuser("IceFuser")`."""
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "style"), None)
    style = named if named is not None or not call.args else call.args[0]
    return style.value if isinstance(style, ast.Constant) and isinstance(style.value, str) else None


def is_extended(project: Project, name: str) -> bool:
    """Whether any file adds entries to a registry after it is written down."""
    grows = re.compile(
        rf"\b{re.escape(name)}(\s*\[[^\]\n]+\]\s*=[^=]|\.(update|setdefault|__setitem__)\b|\s*\|=)"
    )
    return any(name in module.words and grows.search(module.text) for module in project.modules)


def is_wrapper(cls: ClassFacts) -> bool:
    """Whether a class builds what a registry of its file names by a style: `One…(style=…, **kwargs)`."""
    method = cls.methods.get("__init__")
    if method is None or method.args.kwarg is None:
        return False
    named = {node.id for node in walk(method) if isinstance(node, ast.Name) and _NAME.match(node.id)}
    bound = (binding for name in named for binding in cls.module.bindings.get(name, ()))
    return any(_table(binding.value) is not None for binding in bound)


def wrappers(project: Project) -> list[ClassFacts]:
    """All of them in the files that the run looks at."""
    modules = {id(registry.module): registry.module for registry in registries(project)}
    return [cls for module in modules.values() for cls in module.classes.values() if is_wrapper(cls)]
