"""All pairs of a project: distributed modules with their originals, stage families with their models."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..project.distributed import distributed_classes, original_of
from ..project.originals import Originals
from ..project.project import Project
from ..project.stages import Family, Stages
from .arguments import Arguments
from .compare import Comparison
from .difference import Difference
from .frames import Frame, Side
from .held import defaults_of, is_held, names_of_weights
from .nodes import Keys, Node, reachable
from .probe import Probe
from .traced import constructor, forward, traced

_SPLIT = frozenset("depth depths num_local num_global drop_path drop_path_rate dpr".split())
"""What stages divide among them: rules of their own compare it over all stages."""


@dataclass(frozen=True)
class Twin:
    """One pair. `family` is set where the distributed side is a model cut into stages."""

    original: ClassFacts
    classes: tuple[ClassFacts, ...]
    family: Family | None
    differences: tuple[Difference, ...]
    is_aligned: bool
    """Whether what they compute could be held against each other."""

    @property
    def name(self) -> str:
        """What the distributed side is called."""
        return self.family.name if self.family is not None else self.classes[0].name


def twins(project: Project) -> list[Twin]:
    """Every pair that could be compared, with its differences; worked out once."""
    return project.knowledge(_twins)


def _twins(project: Project) -> list[Twin]:
    return [*_modules(project), *_models(project)]


def _modules(project: Project) -> Iterator[Twin]:
    stages = project.knowledge(Stages)
    for cls in distributed_classes(project):
        original = original_of(project, cls)
        if original is None or original is cls or stages.of(cls) is not None:
            continue
        keys = Keys()
        first, second = traced(project, keys, original, cls), traced(project, keys, cls, original)
        found = _compared(first, [second], forward(first), forward(second), frozenset())
        yield Twin(original, (cls,), None, *found)


def _models(project: Project) -> Iterator[Twin]:
    originals = project.knowledge(Originals)
    for family in project.knowledge(Stages).families:
        original = originals.of(family)
        if original is None or not (family.complete or len(family.stages) == 1):
            continue
        keys = Keys()
        classes = [stage.cls for stage in family.stages]
        first = traced(project, keys, original, classes[0])
        sides = [traced(project, keys, cls, original) for cls in classes]
        found = _compared(first, sides, forward(first), _chain(sides), _SPLIT)
        yield Twin(original, tuple(classes), family, *found)


def _chain(sides: Sequence[Side]) -> Node | None:
    """What the last stage returns of the first one's input."""
    result: Node | None = None
    for index, side in enumerate(sides):
        if index:
            if result is None:
                return None
            at = Frame(side, side.cls.module, {})
            side.input_tensor = result if result.op == "seq" else at.node("received", [result], side.cls.node)
        result = forward(side, is_later_stage=index > 0)
    return result


def _compared(
    first: Side, sides: Sequence[Side], theirs: Node | None, mine: Node | None, skipped: frozenset[str]
) -> tuple[tuple[Difference, ...], bool]:
    parameters: dict[str, ast.expr | None] = {}
    for side in (*reversed(sides), first):
        parameters.update(constructor(side.project, side.cls))
    probes = [Probe(parameters, moved=moved) for moved in (False, True)]
    probes.append(Probe(parameters, moved=True, filled=True))
    comparison = Comparison(first, sides, Arguments(first, skipped), probes)
    used = (
        {str(node.value) for node in reachable(theirs) if node.op == "self"} if theirs is not None else set()
    )
    found = [*_stored(comparison, first, sides, used), *names_of_weights(first, sides)]
    if not skipped:  # stages have a rule of their own for what they take
        found += defaults_of(first, sides[0])
    returned = comparison.results(theirs, mine) if theirs is not None and mine is not None else None
    return (*found, *(returned or ())), returned is not None


def _stored(
    comparison: Comparison, first: Side, sides: Sequence[Side], used: set[str]
) -> Iterator[Difference]:
    """The layers, parameters and buffers of one name on both sides, and what else `forward` uses by its name."""
    for side in sides:
        for name, mine in side.attrs.items():
            theirs = first.attrs.get(name)
            if theirs is not None and (name in used or (is_held(theirs) and is_held(mine))):
                yield from comparison.of(theirs, mine, theirs.spot, mine.spot)
