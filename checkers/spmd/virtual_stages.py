"""One class that serves every pipeline stage: what it surely does on a middle one with what it received."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..facts.nodes import is_none, walk
from ..project.places import in_tests
from ..project.project import Project
from ..project.stages import Stages
from .axes import last_name
from .conditions import condition, decide
from .frames import Frame, Scopes
from .stage_paths import MIDDLE, Answers

STAGED = re.compile(r"\b(pre_process|post_process|is_pipeline_(first|last)_stage|is_pp_(first|last)_stage)\b")
_MEGATRON = re.compile(r"^[ \t]*(?:from|import)[ \t]+megatron\.", re.MULTILINE)
_OWN_SCHEDULE = re.compile(
    r"def (recv_forward|send_forward|forward_backward_\w*pipelin\w*|_communicate)\b|get_tensor_shapes|tensor_shapes"
)


@dataclass(frozen=True, eq=False)
class VirtualStage:
    """A class that runs as first, middle and last stage; `received` is the attribute its setter fills, if it does."""

    cls: ClassFacts
    setter: Frame
    forward: Frame
    received: str
    is_unwrapped: bool


class VirtualStages:
    """`project.knowledge(VirtualStages)`: the models that Megatron's own schedule runs on every stage."""

    def __init__(self, project: Project) -> None:
        self.project = project
        own = (module for module in project.modules if not project.is_framework(module))
        self.stages: list[VirtualStage] = []
        if any(module.says(_MEGATRON) for module in project.modules) and not any(
            module.says(_OWN_SCHEDULE) for module in own
        ):
            self.stages += self._found()

    def __iter__(self) -> Iterator[VirtualStage]:
        return iter(self.stages)

    def _found(self) -> Iterator[VirtualStage]:
        project = self.project
        for cls in staged_classes(project):
            setter, forward = project.method(cls, "set_input_tensor"), project.method(cls, "forward")
            if setter is None or forward is None or len(setter[1].args.args) != 2:
                continue
            stage = project.knowledge(Stages).of(cls)
            if (stage is not None and stage.rank is not None) or self._is_part(cls):
                continue
            scopes = project.knowledge(Scopes)
            take = Frame(project, scopes.of(setter[0].module, setter[1]), cls)
            received, is_unwrapped = _kept(take, setter[1])
            run = Frame(project, scopes.of(forward[0].module, forward[1]), cls)
            yield VirtualStage(cls, take, run, received, is_unwrapped)

    def _is_part(self, cls: ClassFacts) -> bool:
        """Whether another module builds it, or derives from it."""
        word = re.compile(rf"\b{re.escape(cls.name)}\b")
        return any(
            other is not cls and word.search(other.text)
            for module in self.project.modules
            if cls.name in module.words
            for other in module.classes.values()
            if self.project.is_module_class(other)
        )


def staged_classes(project: Project) -> Iterator[ClassFacts]:
    """Modules that ask for their stage, Megatron's own and tests left out."""
    for module in project.modules:
        if not project.is_copied_framework(module) and module.says(STAGED) and not in_tests(module.display):
            for cls in module.classes.values():
                if STAGED.search(cls.text) and project.is_module_class(cls) and _asks(cls):
                    yield cls


def _asks(cls: ClassFacts) -> bool:
    """Whether the class reads its stage: one that only sets `self.pre_process = None` does not."""
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and STAGED.fullmatch(last_name(node)) is not None
        for node in walk(cls.node)
    )


def _kept(take: Frame, setter: ast.FunctionDef) -> tuple[str, bool]:
    """The attribute that a setter keeps its argument in on a middle stage, and whether it takes it apart first."""
    given = setter.args.args[1].arg
    if ".set_input_tensor(" in take.module.text_of(setter):
        return "", True
    names = {
        target.attr
        for statement in certain(take, MIDDLE)
        for node in ast.walk(statement)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    }
    is_whole = all(
        ast.unparse(node.value) == given and isinstance(node.targets[0], ast.Attribute)
        for node in ast.walk(setter)
        if isinstance(node, ast.Assign)
    )
    taken_apart = any(isinstance(node, ast.Subscript | ast.Call | ast.For) for node in ast.walk(setter))
    return (names.pop() if len(names) == 1 else ""), taken_apart or not is_whole


def part_of(node: ast.expr, frame: Frame) -> ClassFacts | str:
    """The class of the tree that `self.part` holds; else the dotted name of the one outside it, or an empty text."""
    held = frame.definitions(node) if ast.unparse(node).startswith("self.") else []
    calls = [(value, inner) for value, inner in held if not is_none(value)]
    if len(calls) != 1 or not isinstance(calls[0][0], ast.Call):
        return ""
    ref = calls[0][1].ref(calls[0][0].func)
    return ref if isinstance(ref, ClassFacts) else calls[0][1].external(calls[0][0].func)


def forward_of(frame: Frame, call: ast.Call) -> Frame | None:
    """The forward that `self.part(…)` enters, its arguments bound by name."""
    cls = part_of(call.func, frame)
    found = frame.project.method(cls, "forward") if isinstance(cls, ClassFacts) else None
    if found is None or not isinstance(cls, ClassFacts):
        return None
    scope = frame.project.knowledge(Scopes).of(found[0].module, found[1])
    names = [arg.arg for arg in found[1].args.args][1:]
    given = {name: (value, frame) for name, value in zip(names, call.args, strict=False)}
    given |= {word.arg: (word.value, frame) for word in call.keywords if word.arg is not None}
    return Frame(frame.project, scope, cls, given, frame.depth + 1)


def chosen(node: ast.expr, frame: Frame, known: Answers) -> ast.expr:
    """The side of `a if test else b` that a stage takes."""
    while isinstance(node, ast.IfExp):
        answer = decide(condition(node.test, frame), known)
        if answer is None:
            return node
        node = node.body if answer else node.orelse
    return node


def certain(frame: Frame, known: Answers) -> list[ast.stmt]:
    """The statements that surely run on a stage, in order; loops stand as one. Ends where an open test may leave."""
    function = frame.scope.function
    found: list[ast.stmt] = []
    if function is not None:
        _certain(function.body, frame, known, found)
    return found


def _certain(body: list[ast.stmt], frame: Frame, known: Answers, found: list[ast.stmt]) -> bool:
    """Whether what stands behind these statements surely runs."""
    for statement in body:
        if isinstance(statement, ast.If):
            answer = decide(condition(statement.test, frame), known)
            if answer is None:
                found.append(statement)
                if any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement)):
                    return False
            elif not _certain(statement.body if answer else statement.orelse, frame, known, found):
                return False
        elif isinstance(statement, ast.With):
            if not _certain(statement.body, frame, known, found):
                return False
        else:
            found.append(statement)
            if isinstance(statement, ast.Return | ast.Raise | ast.Try | ast.While):
                return False
    return True


def stores(node: ast.AST) -> set[str]:
    """Names that a statement, or anything in it, binds."""
    return {
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
