"""What a project's own rule is given and gives: this is `onescience_check.plugin`.

`INTERFACE` counts the forms it has had. What is here stays as it is within one number: names may be added, none is
taken away or changes its meaning. Everything else of the package may change in any version.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from ..finding import Edit, Evidence, Finding, Fix, Place
from ..rule import Rule, Symptom
from .seen import UNKNOWN, Class, File, Held, Layer, LayerCall, Model, Stage, State, Unknown

if TYPE_CHECKING:
    from ..facts.module import ClassFacts, ModuleFacts
    from ..tpstate.analysis import Analysis
    from ..tpstate.events import ParallelCall
    from ..tpstate.values import Obj, Value

__all__ = [
    "INTERFACE",
    "UNKNOWN",
    "Class",
    "Edit",
    "Evidence",
    "File",
    "Finding",
    "Fix",
    "Held",
    "Layer",
    "LayerCall",
    "Model",
    "Place",
    "ProjectRule",
    "Stage",
    "Symptom",
    "Tree",
    "Unknown",
]

INTERFACE = 1


class Tree:
    """What a run has read, and what it has seen when it followed the tensors."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._project = analysis, analysis.project
        self._files: dict[int, File] = {}
        self._classes: dict[int, Class] = {}

    @cached_property
    def files(self) -> tuple[File, ...]:
        """Every file that can have to do with parallel code, by path."""
        return tuple(map(self._file, self._project.modules))

    @cached_property
    def classes(self) -> tuple[Class, ...]:
        """Every class of these files."""
        return tuple(map(self._class, self._project.classes()))

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every parallel layer that is built, once for each place that builds it."""
        from ..tpstate.events import Built

        made = (event.obj for event in self._analysis.log.events if isinstance(event, Built))
        found = {layer.place: layer for obj in made if (layer := self._layer(obj)) is not None}
        return tuple(found[place] for place in sorted(found))

    @cached_property
    def calls(self) -> tuple[LayerCall, ...]:
        """Every call of a parallel layer, once for each place and each kind of input seen there."""
        from ..tpstate.events import ParallelCall

        found: dict[tuple[Place, str, str], LayerCall] = {}
        for event in self._analysis.log.events:
            call = self._call(event) if isinstance(event, ParallelCall) else None
            if call is not None:
                key = (call.place, call.given.state, call.result.state)
                if key not in found or (call.is_certain and not found[key].is_certain):
                    found[key] = call
        return tuple(
            sorted(found.values(), key=lambda call: (call.place, call.given.state, call.result.state))
        )

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Every distributed model."""
        from ..project.originals import Originals
        from ..project.stages import Stages

        found = []
        for family in self._project.knowledge(Stages).families:
            original = self._project.knowledge(Originals).of(family)
            stages = tuple(Stage(self._class(stage.cls), stage.rank) for stage in family.stages)
            found.append(Model(family.name, stages, None if original is None else self._class(original)))
        return tuple(found)

    def meaning(self, file: File, node: ast.expr) -> str | None:
        """The dotted name of what an expression at module level names: `torch.nn.Linear`; None where it names nothing.

        Imports are followed from file to file, also through packages that hand a name on.
        """
        module = self._project.module_at(file.path)
        ref = None if module is None else self._project.resolve_expression(module, node)
        found: str | None = getattr(ref, "dotted", getattr(ref, "name", None))
        return found

    def _file(self, module: ModuleFacts) -> File:
        if id(module) not in self._files:
            is_target = module.path in self._project.files.targets
            self._files[id(module)] = File(
                module.path, module.name, module.display, module.text, module.tree, is_target, module
            )
        return self._files[id(module)]

    def _class(self, cls: ClassFacts) -> Class:
        if id(cls) not in self._classes:
            self._classes[id(cls)] = Class(
                cls.name,
                cls.dotted,
                self._file(cls.module),
                cls.node,
                tuple(base.dotted for base in self._project.mro(cls)[1:]),
                self._project.is_module_class(cls),
                MappingProxyType(cls.methods),
            )
        return self._classes[id(cls)]

    def _layer(self, obj: Obj) -> Layer | None:
        from ..tpstate.layers import label
        from ..tpstate.verdicts import site_place

        if obj.provider is None or obj.made_at is None:
            return None
        owner = obj.made_at.module
        return Layer(
            label(obj),
            obj.provider.kind,
            obj.cls.dotted,
            site_place(obj.made_at),
            owner.name,
            MappingProxyType({name: _plain(value) for name, value in obj.args.items()}),
        )

    def _call(self, event: ParallelCall) -> LayerCall | None:
        from ..tpstate.verdicts import owner_name, site_place

        layer = self._layer(event.layer)
        if layer is None:
            return None
        return LayerCall(
            layer,
            site_place(event.site),
            owner_name(event),
            _held(event.given),
            _held(event.result),
            event.certain,
        )


def _plain(value: Value) -> object:
    from ..tpstate.values import Const, poly_of

    if isinstance(value, Const):
        return value.value
    size = poly_of(value)
    number = None if size is None else size.constant
    return UNKNOWN if number is None else number


def _held(value: Value) -> Held:
    from ..tpstate.states import State as Known
    from ..tpstate.values import Pair, Tensor
    from ..tpstate.verdicts import evidence

    if isinstance(value, Pair):
        value = value.output
    if not isinstance(value, Tensor):
        return Held("unknown")
    names: dict[Known, State] = {Known.FULL: "whole", Known.SHARDED: "split", Known.PARTIAL: "partial"}
    return Held(names.get(value.state, "unknown"), evidence(value.why))


class ProjectRule(Rule):
    """The base of a project's own rule.

    Set `code` (a letter E, W, R or C and four digits from 9000 on), `symbol`, `message` and what else helps a reader,
    and write `look`. A finding is made by `self.finding(place, ...)`: further keywords fill the %-formats of `message`
    and `advice`. Yield `decided=False` where the code does not tell: `--strict` lists it, nothing else.
    """

    advice: ClassVar[str] = ""
    why: ClassVar[str] = ""
    symptom: ClassVar[Symptom] = Symptom.TRAP
    runtime: ClassVar[str] = ""
    limits: ClassVar[str] = ""
    guide: ClassVar[str] = ""
    bad: ClassVar[str] = ""
    good: ClassVar[str] = ""
    maturity: ClassVar[str] = "project"

    def look(self, tree: Tree) -> Iterator[Finding]:
        """Yield what is wrong."""
        raise NotImplementedError

    @classmethod
    def title(cls) -> str:
        """The first line of the class docstring, or the message where there is none."""
        return super().title() if (cls.__doc__ or "").strip() else cls.message

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        """What the engine calls."""
        yield from self.look(analysis.project.knowledge(_Trees).of(analysis))


class _Trees:
    """One `Tree` for all rules of a run."""

    def __init__(self, _: object) -> None:
        self._made: Tree | None = None

    def of(self, analysis: Analysis) -> Tree:
        if self._made is None:
            self._made = Tree(analysis)
        return self._made
