"""Which classes are pipeline stages, which of them belong together, and in which order they run.

A stage is a class handed to a pipeline rank. Three things name one: its name (`Pangu_stage0`, `UNetStage1`), a map
from ranks to classes, or a `set_input_tensor` of its own in code that uses Megatron's pipeline: inference engines
copy models with the method left in. A class that only another stage builds is an inner module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..facts.module import ClassFacts, ModuleFacts
from .dispatchers import dispatches
from .project import Project
from .scopes import lines_with
from .stage_maps import NUMBERED, PIPELINE, RANK, StageMap, stage_maps

_USES_MEGATRON = re.compile(
    r"^[ \t]*(?:from|import)\b[^\n]*(?:[Mm]egatron|\bmpu\b)|pipeline_model_parallel|is_pipeline_(?:first|last)_stage",
    re.MULTILINE,
)
_NOT_USER_CODE = re.compile(
    r"(^|/)(megatron/(core|training|legacy|model|inference)|tests?(_\w+)?)/|(^|/)test_[^/]*$"
)


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage. `rank` is None where neither its name nor a map tells it."""

    cls: ClassFacts
    rank: int | None
    family: Family = field(repr=False)

    @property
    def is_one_of_several(self) -> bool:
        """Whether its name, a map or its own branches make it one of the stages of a model."""
        return self.rank is not None or self.family.dispatches

    @property
    def is_first(self) -> bool:
        """Whether it is known to be the first of several."""
        return self.family.ordered and self.family.stages[0] is self

    @property
    def is_last(self) -> bool:
        """Whether it is known to be the last of several."""
        return self.family.ordered and self.family.stages[-1] is self

    @property
    def previous(self) -> Stage | None:
        """The stage of the rank before; None for the first, and where that rank is missing."""
        return self.family.at(self.rank - 1) if self.family.ordered and self.rank is not None else None

    @property
    def following(self) -> Stage | None:
        """The stage of the rank after; None for the last, and where that rank is missing."""
        return self.family.at(self.rank + 1) if self.family.ordered and self.rank is not None else None


@dataclass(eq=False)
class Family:
    """Stages that make one model, by rank. `name` is what their names share; `dispatches`: one class is all of them."""

    name: str
    stages: list[Stage] = field(default_factory=list)
    maps: list[StageMap] = field(default_factory=list)
    dispatches: bool = False

    @property
    def ordered(self) -> bool:
        """Whether several stages with ranks of their own are known."""
        return len(self.stages) > 1 and all(stage.rank is not None for stage in self.stages)

    @property
    def gaps(self) -> list[int]:
        """Ranks between the lowest and the highest that no class has."""
        ranks = [stage.rank for stage in self.stages if stage.rank is not None]
        return [rank for rank in range(min(ranks, default=0), max(ranks, default=0)) if rank not in ranks]

    @property
    def complete(self) -> bool:
        """Whether the ranks run from the first to the last without a gap."""
        return self.ordered and not self.gaps

    def at(self, rank: int) -> Stage | None:
        """The stage of one rank."""
        return next((stage for stage in self.stages if stage.rank == rank), None)


def _takes_input(cls: ClassFacts) -> bool:
    """Whether the schedule could hand the class its input: `set_input_tensor(self, input_tensor)`."""
    method = cls.methods.get("set_input_tensor")
    return method is not None and (
        len(method.args.posonlyargs + method.args.args) > 1 or bool(method.args.vararg)
    )


class Stages:
    """All stage families of a project; `project.knowledge(Stages)` computes them once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.maps = list(stage_maps(project))
        self._numbered = {id(cls): match for cls, match in self._numbered_classes()}
        self.inner: set[int] = set()
        self.families: list[Family] = []
        self._collect()
        self._by_class = {id(stage.cls): stage for family in self.families for stage in family.stages}

    def __iter__(self) -> Iterator[Stage]:
        for family in self.families:
            yield from family.stages

    def of(self, cls: ClassFacts) -> Stage | None:
        """The stage a class is."""
        return self._by_class.get(id(cls))

    def is_inner(self, cls: ClassFacts) -> bool:
        """Whether a class looks like a stage but only another stage builds it."""
        return id(cls) in self.inner

    @cached_property
    def rank_aware(self) -> list[ModuleFacts]:
        """Files that ask for their pipeline rank or the number of stages, Megatron's own and tests left out."""
        return [
            module
            for module in self.project.modules
            if module.says(RANK)
            and not self.project.is_framework(module)
            and not _NOT_USER_CODE.search(module.display)
        ]

    # -- finding them ------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        candidates = self._candidates()
        mapped = {id(cls) for found in self.maps for cls in found.entries.values() if cls is not None}
        for cls in candidates:
            if id(cls) not in mapped and (self._only_built_inside(cls, candidates) or self._is_fed(cls)):
                self.inner.add(id(cls))
        left = [cls for cls in candidates if id(cls) not in self.inner]
        groups: dict[tuple[str, str], list[ClassFacts]] = {}
        alone: list[ClassFacts] = []
        for cls in left:
            match = self._numbered.get(id(cls))
            if match is None:
                alone.append(cls)
            else:
                groups.setdefault((match["base"].rstrip("_"), str(cls.module.path.parent)), []).append(cls)
        for (base, _), members in groups.items():
            self._add(base, {int(self._numbered[id(cls)]["rank"]): cls for cls in reversed(members)})
        for found in self.maps:
            self._attach(found, alone)
        for cls in alone:
            if not any(stage.cls is cls for stage in self) and not self._is_only_base(cls, left):
                family = Family(cls.name, dispatches=dispatches(self.project, cls))
                family.stages.append(Stage(cls, None, family))
                self.families.append(family)

    def _add(self, name: str, classes: dict[int, ClassFacts]) -> Family:
        family = Family(name)
        family.stages += [Stage(cls, rank, family) for rank, cls in sorted(classes.items())]
        self.families.append(family)
        return family

    def _attach(self, found: StageMap, alone: list[ClassFacts]) -> None:
        """Give a map to the family it names, or make a family of it."""
        classes = {rank: cls for rank, cls in found.entries.items() if cls is not None}
        members = {id(cls) for cls in classes.values()}
        for family in self.families:
            if members & {id(stage.cls) for stage in family.stages}:
                family.maps.append(found)
                return
        if len(members) == len(classes) > 1 and all(cls in alone for cls in classes.values()):
            self._add(_shared_prefix([cls.name for cls in classes.values()]), classes).maps.append(found)

    def _candidates(self) -> list[ClassFacts]:
        mapped = [cls for found in self.maps for cls in found.entries.values() if cls is not None]
        marked = {id(cls) for cls in mapped} | set(self._numbered)
        found = []
        for cls in self.project.classes():
            if id(cls) in marked or (_takes_input(cls) and self._runs_in_a_pipeline(cls)):
                if not self.project.is_framework(cls.module):
                    found.append(cls)
        return found + [cls for cls in mapped if not any(cls is other for other in found)]

    def _runs_in_a_pipeline(self, cls: ClassFacts) -> bool:
        """Whether it is named a stage, or its file (or one that names it) imports Megatron or asks for the rank."""
        naming = (module for module in self.project.modules if cls.name in module.words)
        return "stage" in cls.name.lower() or any(
            module.says(_USES_MEGATRON) for module in (cls.module, *naming)
        )

    def _numbered_classes(self) -> Iterator[tuple[ClassFacts, re.Match[str]]]:
        """Classes named like stages, in families that show a sign of a pipeline: CNNs have stages of another kind."""
        groups: dict[tuple[str, str], list[tuple[ClassFacts, re.Match[str]]]] = {}
        for cls in self.project.classes():
            match = NUMBERED.match(cls.name)
            if match is not None and self.project.is_module_class(cls):
                groups.setdefault((match["base"], str(cls.module.path.parent)), []).append((cls, match))
        mapped = {id(cls) for found in self.maps for cls in found.entries.values() if cls is not None}
        for members in groups.values():
            if any(id(cls) in mapped or cls.module.says(PIPELINE) for cls, _ in members):
                yield from members

    def _is_only_base(self, cls: ClassFacts, others: list[ClassFacts]) -> bool:
        """Whether it is what stages have in common: others derive from it, and it computes nothing."""
        if self.project.method(cls, "forward") is not None:
            return False
        return any(cls in self.project.mro(other) for other in others if other is not cls)

    def _is_fed(self, cls: ClassFacts) -> bool:
        """Whether a model that is no stage itself builds it, and hands it what was received."""
        return any(
            f"{cls.name}(" in other.text
            and ".set_input_tensor(" in other.text
            and "set_input_tensor" not in other.methods
            for module in self.project.modules
            if ".set_input_tensor(" in module.text and cls.name in module.words
            for other in module.classes.values()
            if other is not cls and self.project.is_module_class(other)
        )

    def _only_built_inside(self, cls: ClassFacts, candidates: list[ClassFacts]) -> bool:
        """Whether every mention of the class, imports and its own body left out, stands in another candidate."""
        word = re.compile(rf"(?<![\w.\"'`]){re.escape(cls.name)}(?=\s*[(\[,:)}}])")
        inside = False
        for module in self.project.modules:
            if cls.name not in module.text:
                continue
            holders = [other for other in candidates if other is not cls and other.module is module]
            imports = {
                line
                for edge in module.edges
                for line in range(edge.node.lineno, (edge.node.end_lineno or 0) + 1)
            }
            for number in sorted(lines_with(module.text, cls.name) - imports):
                line = module.lines[number - 1]
                if not word.search(line.split("#")[0]):
                    continue
                if module is cls.module and cls.node.lineno <= number <= (cls.node.end_lineno or 0):
                    continue
                if line.lstrip().startswith("class "):
                    continue
                if not any(h.node.lineno <= number <= (h.node.end_lineno or 0) for h in holders):
                    return False
                inside = True
        return inside


def _shared_prefix(names: list[str]) -> str:
    first, last = min(names), max(names)
    size = next((i for i, letter in enumerate(first) if i >= len(last) or last[i] != letter), len(first))
    return first[:size].rstrip("_") or first
