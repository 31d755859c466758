"""The YAML configs a script loads, and the keys it reads of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..facts.nodes import walk
from ..language import tr
from .project import Project, dotted_name
from .scopes import Opaque, Scope
from .script_paths import path_of
from .training import TrainingScript
from .yaml_config import YamlFile, read_yaml

_YAML = frozenset({"yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load"})
_CHANGES = frozenset({"update", "update_params", "merge", "setdefault", "merge_with", "merge_with_dotlist"})
_MAX_STEPS = 10


@dataclass(frozen=True, eq=False)
class ConfigLoad:
    """One call that loads a YAML file. `file` is None, with a `problem`, where the path cannot be told."""

    node: ast.Call
    scope: Scope
    file: YamlFile | None
    section: str | None
    problem: str

    @property
    def where(self) -> tuple[Path | None, str | None]:
        return (self.file.path if self.file is not None else None, self.section)

    @property
    def keys(self) -> tuple[str, ...]:
        """Where its content starts in the file."""
        return () if self.section is None else (self.section,)


@dataclass(frozen=True, eq=False)
class KeyRead:
    """`node` reads `keys` of a loaded file, counted from the top of the file. `is_guarded` where it may be missing."""

    node: ast.expr
    scope: Scope
    load: ConfigLoad
    keys: tuple[str, ...]
    is_guarded: bool


class YamlFiles:
    """Every YAML file of a run, read once; `project.knowledge(YamlFiles)`."""

    def __init__(self, project: Project) -> None:
        self._read: dict[Path, YamlFile] = {}

    def read(self, path: Path) -> YamlFile:
        if path not in self._read:
            self._read[path] = read_yaml(path)
        return self._read[path]


class Configs:
    """What one script loads and reads."""

    def __init__(self, script: TrainingScript) -> None:
        self.script = script
        self.files = script.project.knowledge(YamlFiles)

    @cached_property
    def loads(self) -> dict[ast.Call, ConfigLoad]:
        """Every load of the script, by its call."""
        found = (self._load(node, scope) for node, scope in self.script.calls)
        return {load.node: load for load in found if load is not None}

    def _load(self, node: ast.Call, scope: Scope) -> ConfigLoad | None:
        name = dotted_name(node.func) or ""
        origin = self.script.origin(name) or name
        section: str | None = None
        if name.rsplit(".", 1)[-1] == "YParams" and len(node.args) > 1:
            given: ast.expr | None = node.args[0]
            second = scope.value(node.args[1].id) if isinstance(node.args[1], ast.Name) else node.args[1]
            if not isinstance(second, ast.Constant) or not isinstance(second.value, str):
                return ConfigLoad(node, scope, None, None, tr("the section is known at run time only"))
            section = second.value
        elif name.rsplit(".", 2)[-2:] == ["OmegaConf", "load"] and node.args:
            given = node.args[0]
        elif origin in _YAML and node.args:
            given = _opened(node.args[0], scope)
        else:
            return None
        path = None if given is None else path_of(given, self.script.module.path, self._lookup(scope))
        if path is None:
            return ConfigLoad(node, scope, None, section, tr("the path is known at run time only"))
        file = self.files.read(path)
        return ConfigLoad(node, scope, file, section, file.problem)

    def _lookup(self, scope: Scope) -> Any:
        def lookup(name: str) -> ast.expr | None:
            head, _, option = name.partition(".")
            if option and "." not in option and ("arg" in head or "opt" in head):
                return self._defaults.get(option)
            return scope.value(name)

        return lookup

    @cached_property
    def _defaults(self) -> dict[str, ast.expr]:
        """Defaults of the command line options that the script adds."""
        found: dict[str, ast.expr] = {}
        for node, _ in self.script.calls:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument" and node.args:
                flag = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
                default = next((keyword.value for keyword in node.keywords if keyword.arg == "default"), None)
                if isinstance(flag, str) and default is not None:
                    found[flag.lstrip("-").replace("-", "_")] = default
        return found

    # -- what is read of them ----------------------------------------------------------------------------------

    def reads(self) -> Iterator[KeyRead]:
        """Every chain of keys that the script reads of a config whose file could be read, longest first."""
        if not any(load.file is not None and not load.problem for load in self.loads.values()):
            return
        for scope in self.script.scopes:
            inner: set[int] = set()
            guarded = {id(node) for tried in scope.of(ast.Try) for node in walk(tried)}
            for node in scope.nodes:
                if not isinstance(node, ast.Attribute | ast.Subscript) or id(node) in inner:
                    continue
                inner |= _links(node)
                if isinstance(node.ctx, ast.Load):
                    found = self.source(node, scope)
                    if found is not None and found[1][len(found[0].keys) :]:
                        may_lack = (
                            id(node) in guarded or bool(self._optional & set(found[1])) or self._is_open
                        )
                        yield KeyRead(node, scope, found[0], found[1], may_lack)

    def source(
        self, node: ast.expr | None, scope: Scope, steps: int = 0
    ) -> tuple[ConfigLoad, tuple[str, ...]] | None:
        """The load an expression comes from and the keys on the way; None where it comes from elsewhere."""
        if steps > _MAX_STEPS or node is None or isinstance(node, Opaque):
            return None
        if isinstance(node, ast.Call):
            load = self.loads.get(node)
            return self._returned(node, scope, steps) if load is None else (load, load.keys)
        if isinstance(node, ast.Name):
            return self._named(node.id, scope, steps)
        if isinstance(node, ast.Attribute | ast.Subscript):
            key = node.attr if isinstance(node, ast.Attribute) else _text(node.slice)
            before = self.source(node.value, scope, steps + 1)
            if before is None or key is None:
                return (
                    before
                    if before is not None and isinstance(node, ast.Subscript) and _is_plain(node)
                    else None
                )
            return before[0], (*before[1], key)
        return None

    def _returned(
        self, node: ast.Call, scope: Scope, steps: int
    ) -> tuple[ConfigLoad, tuple[str, ...]] | None:
        """What a function of the script returns, where it has one return: `cfg = load_config()`."""
        called = self.script.function(node.func, scope) if isinstance(node.func, ast.Name) else None
        returns = (
            [part for part in called.nodes if isinstance(part, ast.Return)] if called is not None else []
        )
        if called is None or called.module is not self.script.module or len(returns) != 1:
            return None
        return self.source(returns[0].value, called, steps + 1)

    def _named(self, name: str, scope: Scope, steps: int) -> tuple[ConfigLoad, tuple[str, ...]] | None:
        owner = scope.owner_of(name)
        if owner is None:
            return None
        if name not in owner.parameters:
            return self.source(owner.value(name), owner, steps + 1)
        given = [self.source(value, place, steps + 1) for value, place in self._given(owner, name)]
        known = [found for found in given if found is not None]
        if not known or len(known) < len(given) or name in owner.bound:
            return None
        same = all(found[0].where == known[0][0].where and found[1] == known[0][1] for found in known)
        return known[0] if same else None

    def _given(self, owner: Scope, name: str) -> Iterator[tuple[ast.expr | None, Scope]]:
        """What every call of a function of this script hands to one of its parameters."""
        for node, scope in self._callers.get(owner.function, ()):
            index = owner.parameters.index(name)
            named = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
            yield named or (node.args[index] if index < len(node.args) else None), scope

    @cached_property
    def _callers(self) -> dict[ast.FunctionDef | None, list[tuple[ast.Call, Scope]]]:
        """The calls of each function that this script calls by its name."""
        found: dict[ast.FunctionDef | None, list[tuple[ast.Call, Scope]]] = {}
        for node, scope in self.script.calls:
            called = self.script.function(node.func, scope) if isinstance(node.func, ast.Name) else None
            if called is not None:
                found.setdefault(called.function, []).append((node, scope))
        return found

    @cached_property
    def _optional(self) -> set[str]:
        """Keys the script sets itself, or asks for before it reads them."""
        found: set[str] = set()
        for scope in self.script.scopes:
            for node in scope.nodes:
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                    found.add(node.attr)
                elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                    found |= {text for text in [_text(node.slice)] if text}
                elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                    found |= {text for text in [_text(node.left)] if text}
                elif isinstance(node, ast.Call):
                    name = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
                    if name in ("hasattr", "getattr", "setattr", "get", "pop", "setdefault"):
                        found |= {text for text in map(_text, node.args) if text}
        return found

    @cached_property
    def _is_open(self) -> bool:
        """Whether something merges other values into a config."""
        return any(
            isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES
            for node, _ in self.script.calls
        )


def section_missing(load: ConfigLoad) -> bool:
    """Whether the file was read and lacks the section that the load names."""
    data = load.file.data if load.file is not None else None
    return (
        not load.problem
        and load.section is not None
        and isinstance(data, Mapping)
        and load.section not in data
    )


def _opened(node: ast.expr, scope: Scope) -> ast.expr | None:
    """The path behind `yaml.safe_load(file)`: of `with open(path) as file`, `path.open()`, `path.read_text()`."""
    if isinstance(node, ast.Name):
        bound = scope.value(node.id)
        return None if bound is None else _opened(bound, scope) if isinstance(bound, ast.Call) else None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "open"
        and node.args
    ):
        return node.args[0]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("open", "read_text", "read")
    ):
        return node.func.value if node.func.attr != "read" else _opened(node.func.value, scope)
    return None


def _links(node: ast.expr) -> set[int]:
    """The inner links of a chain `a.b["c"].d`."""
    found: set[int] = set()
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        found.add(id(node))
    return found


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_plain(node: ast.Subscript) -> bool:
    """An index or slice of a list: what comes out has no keys that the file could lack."""
    return False if isinstance(node.slice, ast.Constant) else isinstance(node.slice, ast.Slice)
