"""W7308"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.distributed import (
    distributed_classes,
    handed_on,
    is_named_distributed,
    original_of,
    used_names,
)
from ..project.module_names import written_files
from ..project.project import Project
from ..project.registries import is_wrapper
from ..project.stage_calls import stage_calls
from ..project.stage_classes import parameters
from ..project.stages import Stages
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.callers import sites
from ..tpstate.events import Built
from ..tpstate.module_tree import objects_of
from ..tpstate.values import Obj
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DEEPEST = 3
"""Lists and wrappers around a part that are looked through."""


class ParameterDropped(Rule):
    """A distributed module or stage takes a parameter and never uses it, though its original or its parts do."""

    code, symbol = "W7308", "parameter-dropped"
    message = "`%(cls)s` takes `%(name)s` and never uses it; `%(original)s` passes it on (line %(line)d)"
    advice = "Pass `%(name)s=%(name)s` to what `%(original)s` gives it to."
    why = (
        "The distributed module then runs with the default of its parts, whatever the stage asks for: another window, "
        "no stochastic depth. Nothing fails, and the weights of the original no longer mean the same."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: losses of the original and the distributed model part from the first step"
    limits = (
        "A parameter that the original passes on; or one that a caller gives, and that a module which the constructor "
        "builds would take by the same name. Silent where it is stored, and for a constructor with `locals()`."
    )
    guide = "Principles: keep the parameters of the original"

    bad = """
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.window_size = window_size


    class IceFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.block = Block(dim, window_size=window_size)


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12), config=None):  # [parameter-dropped]
            super().__init__()
            self.block = Block(dim)
    """
    good = """
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.window_size = window_size


    class IceFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.block = Block(dim, window_size=window_size)


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12), config=None):
            super().__init__()
            self.block = Block(dim, window_size=window_size)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        stages = [
            stage.cls for stage in project.knowledge(Stages) if stage.cls.module in written_files(project)
        ]
        for cls in dict.fromkeys((*distributed_classes(project), *stages)):
            method = cls.methods.get("__init__")
            used = used_names(method) if method is not None else set()
            if method is None or "locals" in used:
                continue
            spec = method.args
            unused = [arg for arg in (*spec.args[1:], *spec.kwonlyargs) if arg.arg not in used | {"config"}]
            by_original = list(self._by_original(project, cls, unused)) if is_named_distributed(cls) else []
            yield from (finding for _, finding in by_original)
            left = [arg for arg in unused if arg not in [arg for arg, _ in by_original]]
            if left:
                yield from self._by_parts(analysis, cls, left)

    def _by_original(
        self, project: Project, cls: ClassFacts, unused: list[ast.arg]
    ) -> Iterator[tuple[ast.arg, Finding]]:
        """What the original passes on."""
        original = original_of(project, cls) if unused else None
        if original is None or "__init__" not in original.methods:
            return
        given = handed_on(original.methods["__init__"]) & _parameters(original)
        for arg in unused:
            if arg.arg in given:
                line = _line_of(original.methods["__init__"], arg.arg)
                text = tr("`%(original)s` passes it on here", original=original.name)
                yield (
                    arg,
                    self.finding(
                        place_of(cls.module, arg),
                        object=cls.name,
                        evidence=(Evidence(original.module.display, line, text),),
                        cls=cls.name,
                        name=arg.arg,
                        original=original.name,
                        line=line,
                    ),
                )

    def _by_parts(self, analysis: Analysis, cls: ClassFacts, unused: list[ast.arg]) -> Iterator[Finding]:
        """What somebody gives the class, and what one of the modules that it builds would take by the same name."""
        built = list(_parts(analysis, cls))
        for arg in unused:
            part = next((obj for obj in built if _would_take(analysis, obj, arg.arg)), None)
            giver = _giver(analysis, cls, arg.arg) if part is not None else None
            if giver is None or part is None or part.cls.facts is None or part.made_at is None:
                continue
            yield self.finding(
                place_of(cls.module, arg),
                object=cls.name,
                evidence=(
                    Evidence(*giver, tr("`%(name)s` is given here", name=arg.arg)),
                    at(part.made_at, tr("the part is built here, without it")),
                ),
                message="`%(cls)s` is given `%(name)s` and never uses it; its `%(part)s` takes a default for that",
                advice=tr("Pass `%(name)s=%(name)s` on to it.", name=arg.arg),
                cls=cls.name,
                name=arg.arg,
                part=part.cls.facts.name,
            )


def _parts(analysis: Analysis, cls: ClassFacts) -> Iterator[Obj]:
    """The modules that the constructor of a class builds: in lists, and by wrappers, too."""
    analysis.run_all()
    entry = analysis.objects.get(id(cls))
    waiting = [(value, 0) for value in entry[1].attrs.values()] if entry is not None else []
    while waiting:
        value, depth = waiting.pop(0)
        for obj, condition in objects_of(value, ""):
            if obj is None or condition:
                continue
            if obj.cls.facts is None or is_wrapper(obj.cls.facts):
                waiting += [(inner, depth + 1) for inner in obj.attrs.values()] if depth < _DEEPEST else []
            else:
                yield obj


def _would_take(analysis: Analysis, obj: Obj, name: str) -> bool:
    """Whether the constructor of what was built has a parameter of that name, which was left at its default."""
    facts = obj.cls.facts
    found = analysis.project.method(facts, "__init__") if facts is not None else None
    if found is None or name in obj.args or analysis.project.is_framework(found[0].module):
        return False
    return parameters(found[1]).get(name) is not None


def _giver(analysis: Analysis, cls: ClassFacts, name: str) -> tuple[str, int] | None:
    """The file and line that give a class the parameter: a training script, or a module that builds it."""
    for script in analysis.project.knowledge(Training):
        for call, scope, stage in stage_calls(script):
            if stage.cls is cls and any(word.arg == name for word in call.keywords):
                return scope.module.display, call.lineno
    for event in analysis.log.events:
        if type(event) is Built and event.obj.cls.facts is cls and name in event.obj.args:
            for site in sites(event):
                if isinstance(site.node, ast.Call) and any(word.arg == name for word in site.node.keywords):
                    return site.module.display, site.node.lineno
    return None


def _parameters(cls: ClassFacts) -> set[str]:
    spec = cls.methods["__init__"].args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _line_of(method: ast.FunctionDef, name: str) -> int:
    lines = [
        part.lineno
        for node in walk(method)
        if isinstance(node, ast.Call)
        for value in (*node.args, *(keyword.value for keyword in node.keywords))
        for part in ast.walk(value)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return min(lines)
