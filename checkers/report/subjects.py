"""The distributed models of a project, each with all that belongs to it: stages, original, scripts, findings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from ..engine import Examination
from ..facts.module import ClassFacts, ModuleFacts
from ..files.discovery import display
from ..finding import Finding
from ..project.config_reads import ConfigLoad, Configs
from ..project.originals import Originals
from ..project.project import FunctionRef, dotted_name
from ..project.stage_classes import is_declared
from ..project.stages import Family, Stages
from ..project.training import Training, TrainingScript
from ..tpstate.module_tree import ModuleTree
from .reach import Reach, Start


class Subject:
    """One distributed model."""

    def __init__(self, run: Examination, family: Family) -> None:
        self.run, self.family = run, family
        self.analysis, self.project = run.analysis, run.analysis.project
        self.original = self.project.knowledge(Originals).of(family)

    @staticmethod
    def shown(path: Path) -> str:
        """How the report names a file that is no module."""
        return display(path.absolute())

    @cached_property
    def scripts(self) -> list[TrainingScript]:
        """Scripts that build these stages and start a training, or feed its schedule."""
        found = [script for script in self.project.knowledge(Training) if self._drives(script)]
        return [script for script in found if script.pretrain is not None] or found

    @cached_property
    def other_scripts(self) -> list[TrainingScript]:
        """Scripts that build these stages and start no training."""
        return [s for s in self.project.knowledge(Training) if self._drives(s) and s not in self.scripts]

    def _drives(self, script: TrainingScript) -> bool:
        if script.family is not None:
            return script.family is self.family
        names = {stage.cls.name for stage in self.family.stages}
        own = {stage.cls.module.path for stage in self.family.stages}
        for name in script.module.bindings:
            ref = self.project.resolve(script.module, name)
            if isinstance(ref, FunctionRef) and ref.module.path in own:
                if any(dotted_name(node) in names for node in ast.walk(ref.node)):
                    return True
        return False

    @cached_property
    def configs(self) -> list[ConfigLoad]:
        """The YAML files that the scripts load, each section once."""
        loads = [load for script in self.scripts for load in Configs(script).loads.values()]
        return list({(load.where, load.problem): load for load in loads}.values())

    # -- its code --------------------------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> ModuleTree:
        return ModuleTree(self.analysis, [stage.cls for stage in self.family.stages])

    @cached_property
    def original_tree(self) -> ModuleTree | None:
        if self.original is None:
            return None
        self.analysis.follow(self.original)
        return ModuleTree(self.analysis, [self.original])

    @cached_property
    def classes(self) -> dict[int, ClassFacts]:
        """The stages, their bases and every class they build, by id; the training framework left out."""
        found: dict[int, ClassFacts] = {}
        for cls in [*(stage.cls for stage in self.family.stages), *self.tree.classes]:
            for entry in self.project.mro(cls):
                if isinstance(entry, ClassFacts) and not self.project.is_framework(entry.module):
                    found[id(entry)] = entry
        return found

    def covers(self, finding: Finding) -> bool:
        """Whether a finding lies in this model's code: its scripts, its classes, and what its files hold outside of
        classes."""
        path, line = finding.place.path, finding.place.line
        reached = self._reached.get(path)
        if any(script.module.display == path for script in self.scripts):
            return True
        if finding.symbol == "distributed-counterpart-missing" and self.original is not None:
            if path == self.original.module.display:
                return _holds(self.original, line)
        if reached is None:
            return False
        around = next((node for node in reached.tree.body if _is_around(node, line)), None)
        if around is None or id(around) in self.reach.found:
            return True
        held = [cls for cls in reached.classes.values() if _holds(cls, line)]
        return any(id(cls) in self.classes for cls in held)

    @cached_property
    def reach(self) -> Reach:
        """Everything that the stages, what they build, and the scripts lead to."""
        starts: list[Start] = [(cls.module, cls.node) for cls in self.classes.values()]
        return Reach(
            self.project, [*starts, *((script.module, script.module.tree) for script in self.scripts)]
        )

    @cached_property
    def _reached(self) -> dict[str, ModuleFacts]:
        return {module.display: module for module in self.reach.modules}

    @cached_property
    def findings(self) -> list[Finding]:
        return list(filter(self.covers, self.run.result.findings))

    @cached_property
    def undecided(self) -> list[Finding]:
        return list(filter(self.covers, self.run.result.undecided))

    @cached_property
    def suppressed(self) -> list[Finding]:
        return list(filter(self.covers, self.run.result.suppressed))


def subjects(run: Examination, given: list[Path]) -> Iterator[Subject]:
    """The models to report on: families with a stage, or a script, below the given paths."""
    families = run.analysis.project.knowledge(Stages).families
    for family in families:
        if not any(is_declared(stage) for stage in family.stages) or _is_whole_form(family, families):
            continue
        subject = Subject(run, family)
        modules = [stage.cls.module for stage in family.stages]
        modules += [script.module for script in (*subject.scripts, *subject.other_scripts)]
        if any(module.path.is_relative_to(path) for module in modules for path in given):
            yield subject


def _is_whole_form(family: Family, families: Iterable[Family]) -> bool:
    """Whether a class of its own is the unsplit form of a model whose stages stand in the same file."""
    modules = {stage.cls.module.path for other in families if other.ordered for stage in other.stages}
    return (
        len(family.stages) == 1
        and family.stages[0].rank is None
        and family.stages[0].cls.module.path in modules
    )


def _is_around(node: ast.stmt, line: int) -> bool:
    """Whether a line is of a class or function."""
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return node.lineno <= line <= (node.end_lineno or 0)


def _holds(cls: ClassFacts, line: int) -> bool:
    return cls.node.lineno <= line <= (cls.node.end_lineno or 0)
