"""The modules that a model builds, from its stages down to the last layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..facts.module import ClassFacts
from ..project.project import External
from ..project.registries import wrappers
from ..tpstate.analysis import Analysis
from ..tpstate.config_chain import hands_config
from ..tpstate.events import Site
from ..tpstate.inputs import layer_row
from ..tpstate.providers import COLUMN, PLAIN, ROW
from ..tpstate.values import Choice, Const, Heap, Obj, Seq, Table, Value
from .model import At, Node

_LINEAR = ("torch.nn.Linear", "torch.nn.Bilinear", "torch.nn.MultiheadAttention")
_KINDS = {COLUMN: "column-parallel", ROW: "row-parallel"}
_MAX_DEPTH = 24


@dataclass(frozen=True, eq=False)
class Module:
    """A module as it was built: `cls` where it is of the tree, `children` by attribute."""

    name: str
    dotted: str
    cls: ClassFacts | None
    site: Site | None
    kind: str
    via: str = ""
    note: str = ""
    children: tuple[Module, ...] = ()
    calls: tuple[Site, ...] = field(default=())

    def walk(self) -> Iterator[Module]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def is_parallel(self) -> bool:
        return any(module.kind == "parallel" for module in self.walk())


class CallTree:
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
            return Module("", cls.dotted, cls, site, "unresolved", note="its constructor could not be followed")
        module = self._module(entry[1], "", 0)
        notes = [text for failed, text in self.analysis.log.failed if failed is cls]
        return replace(module, site=site, note=f"only followed in part: {notes[0]}" if notes else module.note)

    def _module(self, obj: Obj, name: str, depth: int) -> Module:
        cls, dotted, row = obj.cls.facts, obj.cls.dotted, layer_row(obj)
        site = obj.made_at if isinstance(obj.made_at, Site) else None
        if row is not None and row.kind != PLAIN:
            return Module(name, dotted, cls, site, "parallel", note=_KINDS.get(row.kind, row.kind))
        if id(obj) in self._active or depth > _MAX_DEPTH:
            return Module(name, dotted, cls, site, "unresolved", note="it holds itself")
        if cls is not None and not self.project.is_framework(cls.module):
            self._classes[id(cls)] = cls
        self._active.add(id(obj))
        try:
            children = tuple(self._children(obj, depth + 1))
        finally:
            self._active.discard(id(obj))
        if cls is not None and id(cls) in self._wrappers:
            return self._unwrapped(obj, name, site, children)
        note = "code of the training framework, not followed" if obj.opaque and not children else ""
        return Module(name, dotted, cls, site, self._kind(obj, children), note=note, children=children)

    def _unwrapped(self, obj: Obj, name: str, site: Site | None, children: tuple[Module, ...]) -> Module:
        """What a wrapper built by its style stands for the wrapper."""
        via = obj.cls.dotted.rsplit(".", 1)[-1]
        if not children:
            style = obj.args.get("style")
            text = f"style {style.value!r}" if isinstance(style, Const) else "its style"
            return Module(name, obj.cls.dotted, obj.cls.facts, site, "unresolved", note=f"{text} could not be resolved")
        first = children[0]
        calls = tuple(found for found in (site,) if found is not None)
        return replace(first, name=name, via=via, site=site, calls=calls)

    def _children(self, obj: Obj, depth: int) -> Iterator[Module]:
        seen: set[object] = set()
        for attr, value in obj.attrs.items():
            if attr.startswith("__"):
                continue
            for held, condition in _objects(value, ""):
                module = self._module(held, "" if attr == "content" else attr, depth)
                module = replace(module, site=self._written(obj, attr, module.site))
                where = module.site.key if module.site is not None else None
                key = (module.dotted, where)
                is_module = held.cls.facts is None or self.project.is_module_class(held.cls.facts)
                if key in seen or not is_module or isinstance(held.cls.facts, ClassFacts) and held.cls.facts.is_dataclass():
                    continue
                seen.add(key)
                yield replace(module, note=f"if {condition}" if condition and not module.note else module.note)

    def _written(self, owner: Obj, attr: str, made: Site | None) -> Site | None:
        """The call in the owner's own code that makes an attribute: equal modules are built once, for whoever is first."""
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
        if obj.cls.facts is None and obj.cls.dotted in _LINEAR:
            return "plain"
        below = {child.kind for child in children}
        if below & {"parallel", "distributed"}:
            return "distributed"
        if "plain" in below:
            return "plain"
        if "unresolved" in below:
            return "unresolved"
        if not children and obj.cls.facts is None and not obj.cls.dotted.startswith("torch."):
            return "unresolved"
        if obj.opaque and obj.cls.facts is not None and not children and self._hides_layers(obj.cls.facts):
            return "unresolved"
        return "other"

    def _hides_layers(self, cls: ClassFacts) -> bool:
        """Whether a class that was not followed is a module with a base or a constructor out of sight."""
        return self.project.is_framework(cls.module) or any(
            isinstance(entry, External) and not entry.dotted.startswith("torch.nn") for entry in self.project.mro(cls)
        )


def _objects(value: Value, condition: str) -> Iterator[tuple[Obj, str]]:
    """The modules that an attribute may hold, and on which condition."""
    if isinstance(value, Obj):
        yield value, condition
    elif isinstance(value, Heap):
        yield from _objects(value.content, condition)
    elif isinstance(value, Seq):
        for item in (*value.items, *([value.rest] if value.rest is not None else [])):
            yield from _objects(item, condition)
    elif isinstance(value, Table):
        for item in (*value.entries.values(), *([value.rest] if value.rest is not None else [])):
            yield from _objects(item, condition)
    elif isinstance(value, Choice):
        yield from _objects(value.then, value.key)
        yield from _objects(value.other, f"not {value.key}")


def nodes(tree: CallTree) -> tuple[Node, ...]:
    """The trees as the report prints them: what cannot be split left out, equal subtrees printed once."""
    printed: dict[Node, str] = {}
    return tuple(_node(root, root.dotted.rsplit(".", 1)[-1], printed) for root in tree.roots)


def _node(module: Module, path: str, printed: dict[Node, str]) -> Node:
    shown = [child for child in _flat(module) if child.kind != "other" or child.cls is not None and not module.via]
    children = tuple(_node(child, f"{path}.{child.name}" if child.name else path, printed) for child in shown)
    site = module.site
    node = Node(
        name=module.name,
        cls=module.dotted.rsplit(".", 1)[-1],
        kind=module.kind,
        at=At(site.module.display, site.node.lineno) if site is not None else At("", 0),
        via=module.via,
        config=_config(module),
        note=module.note,
        children=children,
    )
    bare = replace(node, name="", at=At("", 0), via="")
    if children and bare in printed and site is not None:
        return replace(node, children=(), as_in=printed[bare])
    printed.setdefault(bare, path)
    return node


def _flat(module: Module) -> Iterator[Module]:
    """Children, with those of containers in their place."""
    for child in module.children:
        if child.cls is None and child.children:
            for inner in child.children:
                yield replace(inner, name=f"{child.name}[…]")
        else:
            yield child


def _config(module: Module) -> str:
    """Whether the call that builds a module hands the config on to the parallel layers below."""
    if module.site is None or not isinstance(module.site.node, ast.Call) or not module.is_parallel:
        return ""
    return "passed" if hands_config(module.site.node) else "stops"
