"""Tied embeddings by hand: the marks by which gradients are summed and counted, and a start at zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.nodes import as_code, walk
from ..language import tr
from ..project.project import Project
from .collectives import Entered
from .frames import Frame, functions, module_functions
from .names import EMBEDDING, MODEL
from .stage_paths import FIRST, LAST, MIDDLE, reached

_GROUP = re.compile(r"embedding_group")
_CORE = re.compile(
    r"\b(LanguageModule|GPTModel|setup_embeddings_and_output_layer|initialize_word_embeddings)\b"
)
_LIBRARY_NORM = re.compile(
    r"get_megatron_optimizer|param_is_not_shared|clip_grad_by_total_norm|clip_grad_norm_fp32"
)
Fault = tuple[Frame, ast.AST, str, str]


def built_twice(init: Frame) -> tuple[str, ast.stmt] | None:
    """An attribute that the first and the last stage make by different statements, with the one of the last."""
    found: list[dict[str, ast.stmt]] = []
    for known in (FIRST, LAST):
        made: dict[str, ast.stmt] = {}
        for node in reached(init, known):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            is_own = isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            if is_own and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                made[ast.unparse(node.targets[0])[5:]] = node
        found.append(made)
    first, last = found
    twice = ((name, last[name]) for name in last if name in first and first[name] is not last[name])
    return next(twice, None)


def built_on_ends(init: Frame) -> tuple[str, ast.stmt] | None:
    """An attribute that one statement makes on the first and on the last stage, and on none between."""
    ends = [{id(node): node for node in reached(init, known)} for known in (FIRST, LAST, MIDDLE)]
    for key, node in ends[0].items():
        if key not in ends[1] or key in ends[2] or not isinstance(node, ast.Assign):
            continue
        text = ast.unparse(node.targets[0])
        if (
            text.startswith("self.")
            and isinstance(node.value, ast.Call)
            and "Embedding" in as_code(node.value.func)
        ):
            return text[5:], node
    return None


def mark_faults(project: Project) -> Iterator[Fault]:
    """Sums of tied gradients whose mark nothing sets, or that one end alone sets; copies that are counted twice."""
    if any(module.says(_CORE) for module in project.modules):
        return
    for frame in functions(project, _GROUP):
        for entry in project.knowledge(Entered).of(frame):
            if entry.axes == EMBEDDING and entry.node.args and ".grad" in as_code(entry.node.args[0]):
                mark = _asked_mark(entry.node, frame)
                if mark is not None:
                    yield from _set(project, frame, entry.node, mark)
                    yield from _counted(project, mark)


def _asked_mark(call: ast.Call, frame: Frame) -> str | None:
    """The mark that lets a parameter through to a call: `if getattr(p, "tied", False):`"""
    for node in frame.scope.nodes:
        if isinstance(node, ast.If) and any(
            part is call for statement in node.body for part in walk(statement)
        ):
            marks = _asks(node.test)
            if len(marks) == 1:
                return marks[0]
    return None


def _asks(test: ast.expr) -> list[str]:
    """The names of the attributes that a test asks a parameter for."""
    found = []
    for part in walk(test):
        if isinstance(part, ast.Call) and as_code(part.func) in ("getattr", "hasattr") and len(part.args) > 1:
            if isinstance(part.args[1], ast.Constant) and isinstance(part.args[1].value, str):
                found.append(part.args[1].value)
    return found


def _settings(project: Project, mark: str) -> Iterator[tuple[Frame, ast.stmt]]:
    """The statements that set a mark to something."""
    for module in project.modules:
        if mark in module.words:
            for frame in module_functions(project, module):
                for node in frame.scope.nodes:
                    if (
                        isinstance(node, ast.Assign)
                        and any(
                            isinstance(target, ast.Attribute)
                            and target.attr == mark
                            and as_code(target.value) != "self"
                            for target in node.targets
                        )
                    ) or (
                        isinstance(node, ast.Expr)
                        and f"'{mark}'" in as_code(node)
                        and "setattr(" in as_code(node)
                    ):
                        yield frame, node


def _set(project: Project, frame: Frame, call: ast.Call, mark: str) -> Iterator[Fault]:
    found = list(_settings(project, mark))
    if not found:
        if not any(f"{mark}" in module.words for module in project.modules if module is not frame.module):
            yield (
                frame,
                call,
                tr(
                    "only parameters marked `%(mark)s` are summed here, and nothing sets that mark", mark=mark
                ),
                tr(
                    "Set `weight.%(mark)s = True` on the table of the first and of the last stage.", mark=mark
                ),
            )
        return
    if len(found) == 1 and found[0][0].cls is not None:
        where, node = found[0]
        ends = [any(node is one for one in reached(where, known)) for known in (FIRST, LAST)]
        if ends in ([True, False], [False, True]):
            end = tr("first") if ends[0] else tr("last")
            other = tr("last") if ends[0] else tr("first")
            yield (
                where,
                node,
                tr(
                    "`%(mark)s` is set on the %(end)s stage alone: the %(other)s one does not enter the sum",
                    mark=mark,
                    end=end,
                    other=other,
                ),
                tr("Set the mark on both stages."),
            )


def _counted(project: Project, summed: str) -> Iterator[Fault]:
    """A gradient norm over the stages that counts the copy: its mark is read nowhere, or set nowhere."""
    if any(module.says(_LIBRARY_NORM) for module in project.modules):
        return
    norms = [frame for frame in functions(project, re.compile(r"\.grad\b")) if _is_norm(frame)]
    set_marks = {
        target.attr
        for frame, _ in _settings(project, summed)
        for node in walk(
            frame.cls.node if frame.cls is not None else frame.scope.function or frame.module.tree
        )
        if isinstance(node, ast.Assign) and as_code(node.value) == "True"
        for target in node.targets
        if isinstance(target, ast.Attribute) and as_code(target.value).endswith(".weight")
    }
    others = set_marks - {summed}
    for frame in norms:
        inner = [found for call in frame.scope.calls if (found := frame.callee(call)) is not None]
        tests = [node.test for one in (frame, *inner) for node in one.scope.nodes if isinstance(node, ast.If)]
        shared = {mark for test in tests for mark in _asks(test) if re.search("shared|duplicate|tied", mark)}
        function = frame.scope.function
        if function is None:
            continue
        if not shared and others:
            mark = min(others)
            what = tr("the norm counts the tied table on both stages: nothing asks for `%(mark)s`", mark=mark)
            yield frame, function, what, tr("Leave out parameters with that mark.")
        for mark in sorted(shared - {summed}):
            if not others and next(_settings(project, mark), None) is None:
                what = tr(
                    "the norm leaves out copies marked `%(mark)s`, and nothing sets that mark", mark=mark
                )
                advice = tr("Set `weight.%(mark)s = True` on the copy of the last stage.", mark=mark)
                yield frame, function, what, advice


def _is_norm(frame: Frame) -> bool:
    """Whether a function adds up squares of gradients over the ranks of a model."""
    function = frame.scope.function
    text = frame.module.text_of(function) if function is not None else ""
    sums = frame.project.knowledge(Entered).of(frame)
    return "grad" in text and ("sqrt" in text) and any(entry.axes == MODEL for entry in sums)
