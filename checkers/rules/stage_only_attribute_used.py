"""E7725"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External, Project
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.conditions import Atom, condition
from ..spmd.frames import Frame, Scopes, functions
from ..spmd.instances import class_of
from ..spmd.names import FIRST_STAGE, LAST_STAGE, PP
from ..spmd.stage_paths import FIRST, LAST, MIDDLE, Answers, attributes_read, reached, texts_of
from ..spmd.virtual_stages import VirtualStages
from ..tpstate.verdicts import place_of
from .stage_flag_of_other_stage import says_other_stage
from .stage_ignores_input_tensor import ignores_input

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_STAGED = re.compile(r"pre_process|post_process|is_pipeline_(first|last)_stage")
_ENDS = re.compile(r"pre_process=|post_process=")
_LAST_ENDS = re.compile(r"is_last_rank")
_PLACEHOLDERS = re.compile(r"PPMissingLayer|MissingLayer")
_BASES = ("Module", "MegatronModule", "ABC", "object")


class StageOnlyAttributeUsed(Rule):
    """A part that only the first or the last pipeline stage builds is used on the others too."""

    code, symbol = "E7725", "stage-only-attribute-used"
    message = "`self.%(attr)s` is used on the %(stage)s stage, where the constructor does not build it"
    advice = "Use `self.%(attr)s` under the test that guards it where it is built (line %(line)s)."
    why = "One class serves all stages; what it builds under `pre_process` or `post_process` is absent on the others."
    symptom = Symptom.CRASH
    runtime = "AttributeError as soon as the model is built or run with more than one stage; one stage works."
    limits = (
        "Only for classes whose bases are in the tree or a plain Module, and for uses that surely run: under no test "
        "but those on the stage, or under one flag that also stands where the part is built."
    )
    guide = "beyond the guide; 1.2 lists what a stage must set"

    bad = """
    from torch import nn


    class Model(nn.Module):
        def __init__(self, channels, dim, pre_process=True, post_process=True):
            super().__init__()
            self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
            if pre_process:
                self.embed = nn.Linear(channels, dim)
            self.body = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.embed(x)  # [stage-only-attribute-used]
            return self.body(x)
    """
    good = """
    from torch import nn


    class Model(nn.Module):
        def __init__(self, channels, dim, pre_process=True, post_process=True):
            super().__init__()
            self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
            if pre_process:
                self.embed = nn.Linear(channels, dim)
            self.body = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.embed(x) if self.pre_process else self.input_tensor
            return self.body(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in project.modules:
            if project.is_copied_framework(module) or not module.says(_STAGED):
                continue
            for cls in module.classes.values():
                if "__init__" in cls.methods and _STAGED.search(cls.text) and _is_open_book(project, cls):
                    yield from self._check(project, cls)
        for frame in functions(project, _ENDS):
            yield from self._swapped(frame)
        for frame in functions(project, _LAST_ENDS, _PLACEHOLDERS):
            yield from self._placeholder(frame)

    def _placeholder(self, frame: Frame) -> Iterator[Finding]:
        """`self.lm_head = self.model.embed_tokens` on the last stage, where the model has a placeholder for it."""
        for test in frame.scope.nodes:
            if not isinstance(test, ast.If) or condition(test.test, frame) != Atom("pp", "last", PP):
                continue
            if re.search(r"world_size|pp_size|is_first_rank", ast.unparse(test)):
                continue  # a pipeline of one stage is another case
            for node in (part for statement in test.body for part in ast.walk(statement)):
                owner = (
                    node.value if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else None
                )
                if not isinstance(node, ast.Attribute) or not isinstance(owner, ast.Attribute):
                    continue
                inner = class_of(owner, frame)
                built = _on_first_alone(inner, node.attr, frame) if inner is not None else None
                if inner is not None and built is not None:
                    text = tr(
                        "`self.%(name)s` is built on the first stage, and is a placeholder elsewhere",
                        name=node.attr,
                    )
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.cls.name if frame.cls is not None else "",
                        evidence=(Evidence(inner.module.display, built.lineno, text),),
                        message=tr(
                            "`%(used)s` is used on the last stage, where `%(owner)s` holds a placeholder for it",
                            used=ast.unparse(node),
                            owner=inner.name,
                        ),
                        advice=tr(
                            "Build `%(attr)s` on the last stage too (line %(line)s): "
                            "`if get_pp_group().is_first_rank or get_pp_group().is_last_rank:`.",
                            attr=node.attr,
                            line=built.lineno,
                        ),
                    )
                    return

    def _swapped(self, frame: Frame) -> Iterator[Finding]:
        """`post_process=is_pipeline_first_stage()`"""
        for node in frame.scope.nodes:
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                wrong = {"pre_process": LAST_STAGE, "post_process": FIRST_STAGE}.get(keyword.arg or "")
                asked = last_name(keyword.value.func) if isinstance(keyword.value, ast.Call) else ""
                if wrong and asked in wrong and not says_other_stage(frame, keyword):
                    stage = tr("first") if keyword.arg == "post_process" else tr("last")
                    right = "is_pipeline_last_stage" if stage == "first" else "is_pipeline_first_stage"
                    text = tr("the parts of the other end are built on the %(stage)s stage", stage=stage)
                    yield self.finding(
                        place_of(frame.module, keyword.value),
                        object=frame.function_name,
                        evidence=(Evidence(frame.module.display, keyword.value.lineno, text),),
                        message=tr(
                            "`%(arg)s` is told `%(asked)s()`: %(text)s",
                            arg=keyword.arg,
                            asked=asked,
                            text=text,
                        ),
                        advice=tr("Write `%(arg)s=mpu.%(right)s()`.", arg=keyword.arg, right=right),
                    )

    def _check(self, project: Project, cls: ClassFacts) -> Iterator[Finding]:
        if any(
            virtual.cls is cls and ignores_input(project, virtual)
            for virtual in project.knowledge(VirtualStages)
        ):
            return  # E7206 says it: every stage runs what the first one builds
        scopes = project.knowledge(Scopes)
        init = Frame(project, scopes.of(cls.module, cls.methods["__init__"]), cls)
        built = _assignments(init.scope.nodes)
        elsewhere = _set_elsewhere(project, cls)
        candidates = {name: line for name, line in built.items() if name not in elsewhere}
        seen: set[str] = set()
        for stage, answers in ((tr("first"), FIRST), (tr("middle"), MIDDLE), (tr("last"), LAST)):
            for known in (answers, *({**answers, text: True} for text in texts_of(init))):
                present = set(_assignments([n for part in reached(init, known) for n in walk(part)]))
                absent = {name for name in candidates if name not in present}
                for name, node, frame in _uses(project, cls, init, known) if absent else ():
                    if name in absent and name not in seen:
                        seen.add(name)
                        text = tr(
                            "`self.%(name)s` is built here, and not on the %(stage)s stage",
                            name=name,
                            stage=stage,
                        )
                        yield self.finding(
                            place_of(frame.module, node),
                            object=cls.name,
                            evidence=(Evidence(cls.module.display, candidates[name], text),),
                            attr=name,
                            stage=stage,
                            line=candidates[name],
                        )


def _on_first_alone(cls: ClassFacts, name: str, frame: Frame) -> ast.If | None:
    """The test on the first stage under which a constructor builds an attribute, with a placeholder elsewhere."""
    built = cls.methods.get("__init__")
    if built is None:
        return None
    inside = Frame(frame.project, frame.scope_of(cls.module, built), cls)
    places = [node for node in inside.scope.of(ast.If) if f"self.{name} =" in ast.unparse(node)]
    if len(places) != 1 or condition(places[0].test, inside) != Atom("pp", "0", PP):
        return None
    other = "\n".join(ast.unparse(statement) for statement in places[0].orelse)
    return places[0] if re.search(rf"self\.{name} = \w*Missing\w*\(", other) else None


def _uses(
    project: Project, cls: ClassFacts, init: Frame, known: Answers
) -> Iterator[tuple[str, ast.Attribute, Frame]]:
    frames = [init]
    forward = project.method(cls, "forward")
    if forward is not None:
        frames.append(Frame(project, project.knowledge(Scopes).of(forward[0].module, forward[1]), cls))
    for frame in frames:
        yield from attributes_read(frame, known)


def _assignments(nodes: list[ast.AST]) -> dict[str, int]:
    """Attributes of self that these nodes set, with a line."""
    return {
        node.attr: node.lineno
        for node in nodes
        if type(node) is ast.Attribute
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) == "self"
    }


def _set_elsewhere(project: Project, cls: ClassFacts) -> set[str]:
    found: set[str] = set()
    for entry in project.mro(cls):
        if isinstance(entry, ClassFacts):
            found |= {*entry.constants, *entry.methods, *entry.annotations}
            for name, method in entry.methods.items():
                if entry is not cls or name != "__init__":
                    found |= set(_assignments(walk(method)))
    return found


def _is_open_book(project: Project, cls: ClassFacts) -> bool:
    """Whether nothing out of sight may set attributes."""
    if (
        "setattr(self" in cls.text
        or "register_" in cls.text
        or "__getattr__" in cls.text
        or "add_module" in cls.text
    ):
        return False
    return all(
        entry.dotted.rsplit(".", 1)[-1] in _BASES if isinstance(entry, External) else True
        for entry in project.mro(cls)
    ) and len(cls.node.bases) <= len(project.mro(cls))
