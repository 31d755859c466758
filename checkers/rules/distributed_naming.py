"""C7407"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..files import disk
from ..finding import Finding
from ..language import tr
from ..project.distributed import distributed_classes, is_named_distributed, original_of, original_path
from ..project.project import Project
from ..project.registries import Registry, registries
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import head
from ..tpstate.config_chain import provider_of
from ..tpstate.events import Built, Site

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NAME = re.compile(r"[A-Z]\w*[A-Za-z0-9]Distributed[A-Z0-9]\w*$|Distributed([A-Z][a-z0-9]+|[A-Z0-9]+)$")
"""`{Style}Distributed{Type}`, or one that all styles share: `DistributedMlp`."""


_PARALLEL = re.compile(r"Parallel|TensorParallel|Sharded|TP(?=[A-Z]|$)")
"""Words that stand where the guide has `Distributed`."""


class DistributedNaming(Rule):
    """A distributed module, or its file, is not named `{Style}Distributed{Type}`."""

    code, symbol = "C7407", "distributed-naming"
    message = "%(problem)s"
    advice = "%(hint)s"
    why = "The file table of the review is made from names: what does not follow the pattern seems missing."
    symptom = Symptom.LAYOUT
    runtime = "no effect"
    limits = (
        "Only classes in the folder of a registry; a file is named for one of the distributed classes in it. A type "
        "that all styles share has no style in its name: `DistributedMlp`."
    )
    guide = "2.2: naming"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class DistributedIceFuser(nn.Module):  # [distributed-naming]
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"DistributedIceFuser": DistributedIceFuser}
    """
    good = """
    from torch import nn


    class Example(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"Example": Example}
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        folders = {registry.module.path.parent for registry in registries(project)}
        by_module: dict[int, list[ClassFacts]] = {}
        for cls in distributed_classes(project):
            if cls.module.path.parent in folders:
                by_module.setdefault(id(cls.module), []).append(cls)
        for classes in by_module.values():
            yield from self._of_file(project, classes)
        said = set()
        for finding in self._unnamed(analysis):
            said.add(finding.place)
            yield finding
        for registry in registries(project):
            yield from self._elsewhere(registry)
            yield from (finding for finding in self._as_other(registry) if finding.place not in said)

    def _unnamed(self, analysis: Analysis) -> Iterator[Finding]:
        """Registered modules that build parallel layers and are not named so."""
        split = {
            id(event.owner) for event in analysis.log.events if type(event) is Built and provider_of(event)
        }
        entries = [entry for registry in registries(analysis.project) for entry in registry.entries]
        for cls in {id(entry.target): entry.target for entry in entries}.values():
            if cls is not None and id(cls) in split and not is_named_distributed(cls):
                yield self._finding(
                    cls,
                    tr(
                        "`%(cls)s` holds parallel layers and is not named as {Style}Distributed{Type}",
                        cls=cls.name,
                    ),
                    _renamed(cls.name, _PARALLEL.sub("", cls.name)),
                )

    def _as_other(self, registry: Registry) -> Iterator[Finding]:
        """A distributed style whose class has another name."""
        for entry in registry.entries:
            cls = entry.target
            if cls is not None and "Distributed" in entry.style and not is_named_distributed(cls):
                problem = tr(
                    "`%(cls)s` is registered as `%(style)s` and is not named so",
                    cls=cls.name,
                    style=entry.style,
                )
                yield self._finding(cls, problem, _renamed(cls.name, _PARALLEL.sub("", cls.name)))

    def _elsewhere(self, registry: Registry) -> Iterator[Finding]:
        """Distributed modules of a registry that lie in the folder of another family, away from their originals."""
        home = registry.module.path.parent
        plain = {entry.style: entry.target for entry in registry.entries if entry.target is not None}
        for entry in registry.entries:
            cls, original = entry.target, plain.get(entry.style.replace("Distributed", "", 1))
            if cls is None or original is None or original is cls or not is_named_distributed(cls):
                continue
            folder, right = cls.module.path.parent, original.module.path.parent
            if folder != right and right == home:
                yield self._finding(
                    cls,
                    tr(
                        "`%(cls)s` lies in `%(folder)s`, and the module it was made from in `%(right)s`",
                        cls=cls.name,
                        folder=folder.name,
                        right=right.name,
                    ),
                    tr(
                        "Move the file to `%(right)s`, beside `%(module)s`.",
                        right=right.name,
                        module=original.module.path.name,
                    ),
                )

    def _of_file(self, project: Project, classes: list[ClassFacts]) -> Iterator[Finding]:
        wrong = [cls for cls in classes if not _NAME.match(cls.name)]
        for cls in wrong:
            style = cls.name.replace("Distributed", "", 1)
            yield self._finding(
                cls,
                tr("`%(cls)s` is not named as {Style}Distributed{Type}", cls=cls.name),
                _renamed(cls.name, style),
            )
        module = classes[0].module
        stems = {module.path.stem.lower().replace("_", "")}
        original = original_path(module.path)
        named = any(cls.name.lower() in stems for cls in classes) or (
            original is not None and disk.is_file(original)
        )
        for cls in classes[1:] if named else ():
            yield from self._shares_file(project, cls)
        if not named and not wrong:
            cls = classes[0]
            yield self._finding(
                cls,
                tr("`%(cls)s` lives in `%(module)s`", cls=cls.name, module=module.path.name),
                tr("Name the file `%(file)s.py`.", file=cls.name.lower()),
            )

    def _shares_file(self, project: Project, cls: ClassFacts) -> Iterator[Finding]:
        """A class in the file of another one, though what it was made from has a file of its own."""
        found, module = original_of(project, cls), cls.module
        if (
            found is None
            or found.module is module
            or module.path.stem.lower().replace("_", "") == cls.name.lower()
        ):
            return
        own = found.module.path.stem.lower().replace("_", "") == found.name.lower()
        if own and original_path(module.path) != found.module.path:
            yield self._finding(
                cls,
                tr(
                    "`%(cls)s` lives in `%(module)s`, and `%(found)s` in a file of its own",
                    cls=cls.name,
                    module=module.path.name,
                    found=found.name,
                ),
                tr("Give it a file of its own, `%(file)s.py`.", file=cls.name.lower()),
            )

    def _finding(self, cls: ClassFacts, problem: str, hint: str) -> Finding:
        return self.finding(
            head(Site(cls.module, cls.node), cls.node), object=cls.name, problem=problem, hint=hint
        )


def _renamed(name: str, style: str) -> str:
    """The name with `Distributed` in front of its last word, the type."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", style)
    if len(words) < 2 or "".join(words) != style:
        return tr(
            "Name it for its style and its type, with `Distributed` between them, not `%(name)s`.", name=name
        )
    wanted = f"{''.join(words[:-1])}Distributed{words[-1]}"
    return tr(
        "Rename `%(name)s` to `%(wanted)s`, in its registry entry and where it is imported too.",
        name=name,
        wanted=wanted,
    )
