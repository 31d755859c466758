"""E7403"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.distributed import distributed_classes, original_of
from ..project.registries import Registry, registries
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import head
from ..tpstate.events import Site

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DistributedModuleUnregistered(Rule):
    """A distributed module is in no registry of its family."""

    code, symbol = "E7403", "distributed-module-unregistered"
    message = "`%(cls)s` is not in `%(registry)s`, so no style can name it"
    advice = "Add `%(entry)s` to `%(registry)s` in %(path)s."
    why = "Stages build their modules by style. What is not registered cannot be built, or is built past the wrapper."
    symptom = Symptom.CRASH
    runtime = "NotImplementedError: Unknown fuser style"
    limits = (
        "Only classes in the folder of a registry, in a file named as distributed. Silent for a class that another "
        "file of the tree names, as a part of a registered module or a base of one, unless its original has a style."
    )
    guide = "2.2: register the distributed modules"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class IceFuser(nn.Module):
        def forward(self, x):
            return x


    class IceDistributedFuser(nn.Module):  # [distributed-module-unregistered]
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser}
    """
    good = """
    from torch import nn


    class IceFuser(nn.Module):
        def forward(self, x):
            return x


    class IceDistributedFuser(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser, "IceDistributedFuser": IceDistributedFuser}
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        by_folder: dict[object, list[Registry]] = {}
        for registry in registries(project):
            by_folder.setdefault(registry.module.path.parent, []).append(registry)
        known = {id(entry.target) for registry in registries(project) for entry in registry.entries}
        for cls in distributed_classes(project):
            family = by_folder.get(cls.module.path.parent)
            if family is None or id(cls) in known or any(not registry.is_closed for registry in family):
                continue
            original = original_of(project, cls)
            has_style = (
                original is not None and id(original) in known
            )  # so the original is built by its style
            if not has_style and any(
                _is_named_in(module.text, cls.name, module is cls.module) for module in project.modules
            ):
                continue
            registry = family[0]
            yield self.finding(
                head(Site(cls.module, cls.node), cls.node),
                object=cls.name,
                evidence=(
                    Evidence(
                        registry.module.display,
                        registry.node.lineno,
                        tr("`%(registry)s` is here", registry=registry.name),
                    ),
                ),
                cls=cls.name,
                registry=registry.name,
                path=registry.module.display,
                entry=_entry(registry, cls),
            )


def _entry(registry: Registry, cls: ClassFacts) -> str:
    """The line of the registry, in the form of its other entries: a class, or the pair of a module and a name."""
    is_lazy = re.search(r": \(['\"]", ast.unparse(registry.node)) is not None
    value = f'("{cls.module.name}", "{cls.name}")' if is_lazy else cls.name
    return f'"{cls.name}": {value}'


def _is_named_in(text: str, name: str, own: bool) -> bool:
    """Whether a file uses a class: outside of its own file by any word, inside of it by a call or as a base."""
    pattern = rf"(?<!class )\b{name}\b(?=\(|\):)" if own else rf"\b{name}\b"
    return name in text and re.search(pattern, text) is not None
