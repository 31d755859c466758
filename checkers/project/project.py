"""What the files say together: modules by name, and names resolved across them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..facts.lazy import lazy_member
from ..facts.module import Binding, ClassFacts, Import, ModuleFacts, read_module
from ..facts.nodes import dotted_name as dotted_name
from ..files.discovery import FileSet
from ..settings import Settings
from .guide import has_guide_code
from .places import Places


@dataclass(frozen=True)
class External:
    """A name that leads out of the tree, by its dotted path: `torch.nn.Linear`."""

    dotted: str


@dataclass(frozen=True, eq=False)
class FunctionRef:
    """A module-level function of the tree."""

    node: ast.FunctionDef
    module: ModuleFacts

    @property
    def dotted(self) -> str:
        return f"{self.module.name}.{self.node.name}"


@dataclass(frozen=True, eq=False)
class ValueRef:
    """A module-level name bound to an expression."""

    node: ast.expr
    module: ModuleFacts
    name: str


@dataclass(frozen=True)
class NamespaceRef:
    """A package folder without `__init__.py`."""

    dotted: str


Ref = ClassFacts | FunctionRef | ValueRef | ModuleFacts | External | NamespaceRef

K = TypeVar("K")

_MAX_HOPS = 24
_MODULE_CLASSES = ("Module", "MegatronModule", "ModuleList", "Sequential")


class NotYet(BaseException):
    """The analysis was asked for where another process is still at it; no handler of a rule must stop this."""


class Project:
    """All modules of one run, read on demand, and the names they bind."""

    def __init__(self, files: FileSet, settings: Settings) -> None:
        self.files = files
        self.settings = settings
        self._places = Places(files)
        self._modules: dict[Path, ModuleFacts | None] = {}
        self._found: dict[tuple[str, str], ModuleFacts | NamespaceRef | None] = {}
        self._resolved: dict[tuple[int, str], Ref | None] = {}
        self._mro: dict[int, tuple[ClassFacts | External, ...]] = {}
        self._framework: dict[ModuleFacts, bool] = {}
        self._module_classes: dict[int, bool] = {}
        self._known: dict[Callable[[Project], Any], Any] = {}
        self.modules: list[ModuleFacts] = []
        self.read_for_analysis: list[ModuleFacts] | None = None
        self.is_withheld = (
            False  # whether another process follows the tensors: what it finds cannot be asked for
        )
        for source in files.files:
            facts = self.module_at(source.path)
            if facts is not None:
                self.modules.append(facts)

    def knowledge(self, kind: Callable[[Project], K]) -> K:
        """What a class of this package works out from the whole project, computed on first use."""
        if kind not in self._known:
            self._known[kind] = kind(self)
        found: K = self._known[kind]
        return found

    def is_framework(self, module: ModuleFacts) -> bool:
        """Whether a module belongs to a copy of the training framework, which is known by contract."""
        if module not in self._framework:
            name = f".{module.name}."
            self._framework[module] = any(f".{prefix}." in name for prefix in self.settings.framework)
        return self._framework[module]

    def is_asked(self, module: ModuleFacts) -> bool:
        """Whether findings in a file are wanted: what a rule says of others need not be worked out."""
        return self.files.beside or module.path in self.files.targets

    def is_copied_framework(self, module: ModuleFacts) -> bool:
        """Whether a module belongs to a copy of the framework inside another package: Megatron-LM itself is none."""
        return any(f".{prefix}." in f"{module.name}." for prefix in self.settings.framework)

    def module_at(self, path: Path) -> ModuleFacts | None:
        """The facts of a file, read on first use; None when it is absent or cannot be read."""
        if path not in self._modules:
            source = self.files.load(path)
            self._modules[path] = None if source is None else read_module(self._places.name_of(path), source)
        return self._modules[path]

    def root_of(self, path: Path) -> Path:
        """The folder from which absolute imports of this file's package start."""
        return self._places.root_of(path)

    def classes(self) -> Iterator[ClassFacts]:
        """Every class of the relevant files, in file order."""
        for module in self.modules:
            yield from module.classes.values()

    @property
    def follows_guide(self) -> bool:
        """Whether OneScience's own rules apply: by the settings, else where its package, stages or registries are."""
        if self.settings.profile != "auto":
            return self.settings.profile == "guide"
        return self.knowledge(has_guide_code)

    @property
    def read(self) -> list[ModuleFacts]:
        """Every module read so far: also plain ones, which the names of others led to."""
        return [facts for facts in self._modules.values() if facts is not None]

    @property
    def followed(self) -> list[ModuleFacts]:
        """Every module that was read when the tensors had been followed; rules read more, each others."""
        if self.is_withheld:
            raise NotYet
        return self.read if self.read_for_analysis is None else self.read_for_analysis

    # -- modules by name -------------------------------------------------------------------------------------

    def find_module(self, dotted: str, near: ModuleFacts) -> ModuleFacts | NamespaceRef | None:
        """The module an absolute name means for `near`: its own root first, then the others, nearest first."""
        key = (dotted, near.folder)
        if key not in self._found:
            found = self._places.find(dotted, near.path)
            bare = NamespaceRef(dotted) if found is not None else None
            self._found[key] = self.module_at(found) if found is not None and found.suffix else bare
        return self._found[key]

    # -- names ------------------------------------------------------------------------------------------------

    def resolve(self, module: ModuleFacts, dotted: str) -> Ref | None:
        """What `a.b.c` means when it is read at module level of `module`; None for a builtin or unbound name."""
        key = (id(module), dotted)
        if key not in self._resolved:
            self._resolved[key] = None  # what a circular import finds
            self._resolved[key] = self._chain(module, dotted, 0)
        return self._resolved[key]

    def imported(self, module: ModuleFacts, binding: Import) -> Ref | None:
        """What a `from` import statement binds, also one inside a function."""
        return self._follow(module, binding.attr or "", Binding(binding, True), 0)

    def attribute(self, ref: Ref, attr: str, near: ModuleFacts) -> Ref | None:
        """What `ref.attr` means: a member of a module, package or external name."""
        return self._attribute(ref, attr, near, 0)

    def _attribute(self, ref: Ref, attr: str, near: ModuleFacts, hops: int) -> Ref | None:
        if isinstance(ref, External):
            return External(f"{ref.dotted}.{attr}")
        if isinstance(ref, NamespaceRef):
            return self.find_module(f"{ref.dotted}.{attr}", near) or External(f"{ref.dotted}.{attr}")
        if isinstance(ref, ModuleFacts):
            return self._member(ref, attr, hops)
        return None

    def _member(self, module: ModuleFacts, name: str, hops: int) -> Ref | None:
        if hops > _MAX_HOPS:
            return None
        binding = module.binding(name)
        if binding is not None:
            return self._follow(module, name, binding, hops)
        if module.is_package:
            inner = self.find_module(f"{module.name}.{name}", module)
            folder = module.path.parent
            if isinstance(inner, ModuleFacts) and inner.path.parent in (folder, folder / name):
                return inner
        for star in module.stars:
            target = self._import_target(module, star)
            if isinstance(target, ModuleFacts) and target is not module:
                found = self._member(target, name, hops + 1)
                if found is not None and not (isinstance(found, External) and found.dotted.count(".") == 0):
                    return found
            elif isinstance(target, External) and len(module.stars) == 1 and name[:1].isupper():
                return External(f"{target.dotted}.{name}")
        return self._lazy_member(module, name, hops)

    def _follow(self, module: ModuleFacts, name: str, binding: Binding, hops: int) -> Ref | None:
        value = binding.value
        if isinstance(value, ClassFacts):
            return value
        if isinstance(value, ast.FunctionDef):
            return FunctionRef(value, module)
        if isinstance(value, Import):
            target = self._import_target(module, value.module)
            if value.attr is None:
                return target
            found = self._attribute(target, value.attr, module, hops + 1)
            if found is None and isinstance(target, ModuleFacts | NamespaceRef):
                dotted = f"{module.absolute(value.module)}.{value.attr}"
                return self.find_module(dotted, module) or External(dotted)
            return found
        alias = dotted_name(value)
        head = alias.split(".")[0] if alias is not None else name
        if alias is not None and head != name and module.binding(head) is not None:
            return self._chain(module, alias, hops + 1) or ValueRef(value, module, name)
        return ValueRef(value, module, name)

    def _chain(self, module: ModuleFacts, dotted: str, hops: int) -> Ref | None:
        head, *rest = dotted.split(".")
        ref = self._member(module, head, hops)
        for attr in rest:
            ref = self._attribute(ref, attr, module, hops) if ref is not None else None
        return ref

    def _import_target(self, module: ModuleFacts, name: str) -> Ref:
        dotted = module.absolute(name)
        return self.find_module(dotted, module) or External(dotted)

    def _lazy_member(self, module: ModuleFacts, name: str, hops: int) -> Ref | None:
        served = lazy_member(module, name)
        if served is None:
            return None
        target, attr = self._import_target(module, served.module), served.attr or name
        if isinstance(target, ModuleFacts):
            return self._member(target, attr, hops + 1)
        return External(f"{module.absolute(served.module)}.{attr}")

    # -- classes ----------------------------------------------------------------------------------------------

    def mro(self, cls: ClassFacts) -> tuple[ClassFacts | External, ...]:
        """The class and its bases, nearest first (depth first, each once); a circular hierarchy ends."""
        if id(cls) not in self._mro:
            self._mro[id(cls)] = (cls,)
            order: list[ClassFacts | External] = [cls]
            for base in cls.node.bases:
                ref = self.resolve_expression(cls.module, base)
                if isinstance(ref, ClassFacts):
                    order += [entry for entry in self.mro(ref) if entry not in order]
                elif isinstance(ref, External) and ref not in order:
                    order.append(ref)
            self._mro[id(cls)] = tuple(order)
        return self._mro[id(cls)]

    def resolve_expression(self, module: ModuleFacts, node: ast.expr) -> Ref | None:
        """What a module-level expression names: a dotted name, possibly subscripted (`Generic[T]`)."""
        if isinstance(node, ast.Subscript):
            return self.resolve_expression(module, node.value)
        dotted = dotted_name(node)
        return self.resolve(module, dotted) if dotted else None

    def method(self, cls: ClassFacts, name: str) -> tuple[ClassFacts, ast.FunctionDef] | None:
        """The definition of a method that an instance of `cls` runs, and the class that holds it.

        None when there is none, or when a class sets it to something else (`__init__ = partialmethod(…)`).
        """
        for entry in self.mro(cls):
            if isinstance(entry, ClassFacts):
                if name in entry.methods:
                    return entry, entry.methods[name]
                if name in entry.constants:
                    return None
        return None

    def is_module_class(self, cls: ClassFacts) -> bool:
        """Whether the class is a torch.nn.Module, as far as its visible bases tell."""
        known = self._module_classes.get(id(cls))
        if known is None:
            known = self._module_classes[id(cls)] = any(
                "forward" in entry.methods
                if isinstance(entry, ClassFacts)
                else entry.dotted.rsplit(".", 1)[-1] in _MODULE_CLASSES
                for entry in self.mro(cls)
            )
        return known
