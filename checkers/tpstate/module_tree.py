"""The modules that a model builds, from its stages down to the last layer: objects of the interpreter, by attribute."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..facts.module import ClassFacts
from ..language import tr
from ..project.project import External
from ..project.registries import wrappers
from .analysis import Analysis
from .choices import Choice
from .events import Site
from .inputs import layer_row
from .provider_table import COLUMN, PLAIN, ROW
from .values import Const, Heap, Obj, Seq, Table, Unknown, Value

_LINEAR = ("torch.nn.Linear", "torch.nn.Bilinear", "torch.nn.MultiheadAttention")
_KINDS = {COLUMN: tr("column-parallel"), ROW: tr("row-parallel")}
_MAX_DEPTH = 24


@dataclass(frozen=True, eq=False)
class Module:
    """A module as it was built: `cls` where it is of the tree, `children` by attribute.

    `kind`: parallel (a parallel layer), distributed (holds one), plain (holds a linear layer that stays whole),
    framework (a module of the training framework, which splits itself), other (nothing to split) or unresolved.
    `via` is the wrapper that built it by a style, `condition` the branch on which it is there.
    """

    name: str
    dotted: str
    cls: ClassFacts | None
    site: Site | None
    kind: str
    via: str = ""
    note: str = ""
    condition: str = ""
    children: tuple[Module, ...] = ()

    def walk(self) -> Iterator[Module]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_parallel(self) -> bool:
        return any(module.kind == "parallel" for module in self.walk())


class ModuleTree:
    """The module trees of some model classes."""

    def __init__(self, analysis: Analysis, roots: list[ClassFacts]) -> None:
        self.analysis, self.project = analysis, analysis.project
        self._wrappers = {id(cls) for cls in wrappers(self.project)}
        self._used: set[int] = set()
        self._classes: dict[int, ClassFacts] = {}
        self._active: set[int] = set()
        analysis.run_all()
        self.roots = [self._root(cls) for cls in roots]

    @property
    def classes(self) -> list[ClassFacts]:
        """Every class of the tree below the roots, wrappers too; without the training framework's own."""
        return list(self._classes.values())

    def modules(self) -> Iterator[Module]:
        """Every module of all trees, parents first."""
        for root in self.roots:
            yield from root.walk()

    @cached_property
    def unresolved(self) -> list[Module]:
        return [module for module in self.modules() if module.kind == "unresolved"]

    def _root(self, cls: ClassFacts) -> Module:
        entry = self.analysis.objects.get(id(cls))
        site = Site(cls.module, cls.node)
        if entry is None:
            return Module(
                "", cls.dotted, cls, site, "unresolved", note=tr("its constructor could not be followed")
            )
        module = self._module(entry[1], "", 0)
        notes = [text for failed, text in self.analysis.log.failed if failed is cls]
        return replace(
            module,
            site=site,
            note=tr("only followed in part: %(notes)s", notes=notes[0]) if notes else module.note,
        )

    def _module(self, obj: Obj, name: str, depth: int) -> Module:
        cls, dotted, row = obj.cls.facts, obj.cls.dotted, layer_row(obj)
        site = obj.made_at if isinstance(obj.made_at, Site) else None
        if row is not None and row.kind != PLAIN:
            return Module(name, dotted, cls, site, "parallel", note=_KINDS.get(row.kind, row.kind))
        if id(obj) in self._active or depth > _MAX_DEPTH:
            return Module(name, dotted, cls, site, "unresolved", note=tr("it holds itself"))
        if cls is not None and not self.project.is_framework(cls.module):
            self._classes[id(cls)] = cls
        self._active.add(id(obj))
        try:
            children = tuple(self._children(obj, depth + 1))
        finally:
            self._active.discard(id(obj))
        if cls is not None and id(cls) in self._wrappers:
            return self._unwrapped(obj, name, site, children)
        return Module(name, dotted, cls, site, self._kind(obj, children), children=children)

    def _unwrapped(self, obj: Obj, name: str, site: Site | None, children: tuple[Module, ...]) -> Module:
        """What a wrapper built by its style stands for the wrapper."""
        via = obj.cls.dotted.rsplit(".", 1)[-1]
        if not children:
            style = obj.args.get("style")
            text = (
                tr("style %(value)s", value=repr(style.value))
                if isinstance(style, Const)
                else tr("its style")
            )
            return Module(
                name,
                obj.cls.dotted,
                obj.cls.facts,
                site,
                "unresolved",
                note=tr("%(text)s could not be resolved", text=text),
            )
        return replace(children[0], name=name, via=via, site=site)

    def _children(self, obj: Obj, depth: int) -> Iterator[Module]:
        seen: set[object] = set()
        for attr, value in obj.attrs.items():
            if attr.startswith("__"):
                continue
            name = "" if attr == "content" else attr
            for held, condition in objects_of(value, ""):
                if held is None:
                    if self._is_called(obj, attr):
                        note = tr("what it holds is known at run time only")
                        site = self._written(obj, attr, None) or obj.made_at
                        yield Module(
                            name or "[…]", "", None, site, "unresolved", note=note, condition=condition
                        )
                    continue
                if held.cls.facts is not None:
                    if held.cls.facts.is_dataclass or not self.project.is_module_class(held.cls.facts):
                        continue
                module = self._module(held, name, depth)
                module = replace(module, site=self._written(obj, attr, module.site), condition=condition)
                key = (attr, module.dotted, module.site.key if module.site is not None else None)
                if key not in seen:
                    seen.add(key)
                    yield module

    def _is_called(self, owner: Obj, attr: str) -> bool:
        """Whether an attribute that cannot be told is a module: the content of a container, or one that is called."""
        cls = owner.cls.facts
        if attr == "content":
            return True
        if cls is None:
            return False
        lines = cls.module.lines[cls.node.lineno - 1 : cls.node.end_lineno]
        return any(f"self.{attr}(" in line for line in lines)

    def _written(self, owner: Obj, attr: str, made: Site | None) -> Site | None:
        """The call in the owner's own code that makes an attribute: equal modules are built but once."""
        cls = owner.cls.facts
        if cls is None:
            return made
        entries = [entry for entry in self.project.mro(cls) if isinstance(entry, ClassFacts)]
        for entry in entries:
            if made is not None and made.module is entry.module:
                if entry.node.lineno <= made.node.lineno <= (entry.node.end_lineno or 0):
                    return made
        for entry in entries:
            for node in ast.walk(entry.node):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    if any(isinstance(t, ast.Attribute) and t.attr == attr for t in node.targets):
                        return Site(entry.module, node.value)
        return made

    def _kind(self, obj: Obj, children: tuple[Module, ...]) -> str:
        cls = obj.cls.facts
        if cls is None and obj.cls.dotted in _LINEAR:
            return "plain"
        if cls is not None and self.project.is_framework(cls.module):
            return "framework"
        below = {child.kind for child in children}
        if below & {"parallel", "distributed"}:
            return "distributed"
        for kind in ("plain", "unresolved", "framework"):
            if kind in below:
                return kind
        is_hidden = (
            not obj.cls.dotted.startswith("torch.") if cls is None else obj.opaque and self._hides_layers(cls)
        )
        return "unresolved" if is_hidden and not children else "other"

    def _hides_layers(self, cls: ClassFacts) -> bool:
        """Whether a base of a class is out of sight and no plain torch module."""
        return any(
            isinstance(entry, External) and not entry.dotted.startswith("torch.nn")
            for entry in self.project.mro(cls)
        )


def objects_of(
    value: Value, condition: str, met: set[tuple[int, str]] | None = None
) -> Iterator[tuple[Obj | None, str]]:
    """The modules that an attribute may hold, and on which condition; None where it holds what cannot be told.

    A list, tuple or dict that is met again is not walked again: one that holds itself twice on forty levels has no end.
    """
    met = set() if met is None else met
    if isinstance(value, Obj):
        yield value, condition
    elif isinstance(value, Unknown):
        yield None, condition
    elif isinstance(value, Choice):
        key = re.sub(r"@\d+", "", value.key)
        yield from objects_of(value.then, key, met)
        yield from objects_of(value.other, f"not ({key})" if " " in key else f"not {key}", met)
    elif isinstance(value, Heap | Seq | Table) and (id(value), condition) not in met:
        met.add((id(value), condition))
        for item in _items(value):
            yield from objects_of(item, condition, met)


def _items(value: Heap | Seq | Table) -> tuple[Value, ...]:
    if isinstance(value, Heap):
        return (value.content,)
    items = value.items if isinstance(value, Seq) else tuple(value.entries.values())
    return items if value.rest is None else (*items, value.rest)
