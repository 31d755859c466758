"""The module trees as the report prints them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..language import tr
from ..tpstate.config_chain import hands_config
from ..tpstate.module_tree import Module, ModuleTree
from .model import At, Node


def nodes(tree: ModuleTree) -> tuple[Node, ...]:
    """The trees as the report prints them: what cannot be split left out, equal subtrees printed once."""
    printed: dict[Node, str] = {}
    return tuple(_node(root, root.dotted.rsplit(".", 1)[-1], printed) for root in tree.roots)


def _node(module: Module, path: str, printed: dict[Node, str]) -> Node:
    shown = [
        child
        for child in _flat(module)
        if child.kind != "other" or (child.cls is not None and not module.via)
    ]
    children = tuple(_node(child, f"{path}.{child.name}" if child.name else path, printed) for child in shown)
    site = module.site
    node = Node(
        name=module.name,
        cls=module.dotted.rsplit(".", 1)[-1],
        kind=module.kind,
        at=At(site.module.display, site.node.lineno) if site is not None else At("", 0),
        via=module.via,
        config=_config(module),
        note=tr("if %(condition)s", condition=module.condition)
        if module.condition and not module.note
        else module.note,
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
    return "passed" if hands_config(module.site.node, module.site.function) else "stops"
