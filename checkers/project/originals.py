"""The model that a distributed one was made from: found by the guide's names and folders."""

from __future__ import annotations

import re

from ..facts.module import ClassFacts
from .project import Project
from .stages import Family, Stages

_SUFFIX = re.compile(
    r"_?(distributed|parallel|megatron|pipeline|pp|tp)(_?\d+_?stages?)?$|_?\d+_?stages?$|_?stages?$",
    re.IGNORECASE,
)


class Originals:
    """`project.knowledge(Originals).of(family)` is the original model of a stage family."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._found: dict[int, ClassFacts | None] = {}
        self._by_name: dict[str, list[ClassFacts]] = {}
        for cls in project.classes():
            self._by_name.setdefault(plain_name(cls.name), []).append(cls)

    def of(self, family: Family) -> ClassFacts | None:
        """The original of a family: in `models/pangu/` for `models/pangu_distributed_4stage/`, else beside the stages.

        None when there is none, or several that no folder tells apart.
        """
        if id(family) not in self._found:
            self._found[id(family)] = self._find(family)
        return self._found[id(family)]

    def _find(self, family: Family) -> ClassFacts | None:
        stages = self.project.knowledge(Stages)
        holder = family.stages[0].cls.module
        own = {id(stage.cls) for stage in family.stages}
        named = [
            cls
            for cls in self._by_name.get(plain_name(family.name), ())
            if id(cls) not in own and self.project.is_module_class(cls) and not stages.is_inner(cls)
        ]
        folder = holder.path.parent
        model = plain_name(folder.name)
        groups = (
            [
                cls
                for cls in named
                if cls.module.path.parent.parent == folder.parent
                and cls.module.path.parent.name.lower() == model
            ],
            [cls for cls in named if cls.module.path.parent == folder and stages.of(cls) is None],
            [cls for cls in named if cls.module is holder],
            [cls for cls in named if stages.of(cls) is None and not _is_distributed(cls)],
        )
        return next((found[0] for found in groups if len(found) == 1), None)


def plain_name(name: str) -> str:
    """`PanguDistributed_4stage` and `pangu` are one name."""
    before = ""
    while name != before:
        before, name = name, _SUFFIX.sub("", name)
    return name.replace("_", "").lower()


def _is_distributed(cls: ClassFacts) -> bool:
    return "distributed" in cls.name.lower() or "distributed" in cls.module.path.as_posix().lower()
