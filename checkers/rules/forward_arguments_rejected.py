"""E7313"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import Translatable, tr
from ..project.dict_interface import dict_forward_of
from ..project.own_attributes import set_outside
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..spmd.instances import class_of
from ..tpstate.callers import (
    by_written_call,
    callee_text,
    parameters,
    signature_is_known,
    through_super,
    written_in,
)
from ..tpstate.events import Rejected, Site
from ..tpstate.verdicts import place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ForwardArgumentsRejected(Rule):
    """A submodule is called with arguments its forward does not accept."""

    code, symbol = "E7313", "forward-arguments-rejected"
    message = "`%(call)s` runs `%(cls)s.forward`, and %(problem)s"
    advice = "`%(cls)s.forward` takes: %(takes)s."
    why = (
        "nn.Module hides the signature of `forward` behind `__call__`, so no type checker compares a call of a "
        "submodule with it, least of all through a registry."
    )
    symptom = Symptom.CRASH
    runtime = (
        "TypeError from `forward`: an argument too many, one that is missing, or a name that it does not take"
    )
    limits = (
        "Silent where the submodule cannot be told, where its forward is decorated or replaced, where code "
        "elsewhere puts another module in its place, where a class has a `__call__` of its own, for a call through "
        "`super()`, and where it depends on more than one open condition."
    )
    guide = "Principle 12: one forward interface for fusers"
    maturity = "stable"

    bad = """
    from torch import nn


    class Block(nn.Module):
        def forward(self, x):
            return 2 * x


    _BLOCK_REGISTRY = {"Block": Block}


    class Fuser(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = _BLOCK_REGISTRY["Block"]()

        def forward(self, x, mask):
            return self.block(x, mask)  # [forward-arguments-rejected]
    """
    good = """
    from torch import nn


    class Block(nn.Module):
        def forward(self, x):
            return 2 * x


    _BLOCK_REGISTRY = {"Block": Block}


    class Fuser(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = _BLOCK_REGISTRY["Block"]()

        def forward(self, x, mask):
            return self.block(x) * mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for site, event, certain in by_written_call(analysis.log.events, Rejected):
            cls = event.holder
            if not certain or event.what != "forward" or cls is None or through_super(event.site):
                continue
            if not signature_is_known(analysis.project, cls, "forward"):
                continue
            if "positional" in event.problem and dict_forward_of(analysis.project, cls) is not None:
                continue  # said by submodule-not-given-dict
            if _is_replaced(analysis.project, site):
                continue
            method = cls.methods["forward"]
            yield self.finding(
                site_place(site),
                object=written_in(site),
                evidence=(
                    Evidence(
                        cls.module.display,
                        method.lineno,
                        tr("`%(cls)s.forward` is declared here", cls=cls.name),
                    ),
                ),
                call=callee_text(site),
                cls=cls.name,
                problem=_without_self(event.problem),
                takes=", ".join(parameters(method)) or tr("nothing"),
            )
        yield from self._in_scripts(analysis)

    def _in_scripts(self, analysis: Analysis) -> Iterator[Finding]:
        """A model that a script builds and calls by itself, outside of any module."""
        project = analysis.project
        for frame in functions(project, _RUNS, _BUILDS):
            if frame.cls is not None and project.is_module_class(frame.cls):
                continue  # run by the interpreter
            for node in frame.scope.nodes:
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
                    continue
                cls = class_of(node.func, frame) if _MODEL.search(ast.unparse(node.func)) else None
                if (
                    cls is None
                    or not project.is_module_class(cls)
                    or not signature_is_known(project, cls, "forward")
                ):
                    continue
                method = cls.methods["forward"]
                problem = _misfit(node, method)
                if problem:
                    declared = tr("`%(cls)s.forward` is declared here", cls=cls.name)
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.cls.name if frame.cls is not None else frame.module.name,
                        evidence=(Evidence(cls.module.display, method.lineno, declared),),
                        call=f"{ast.unparse(node.func)}(…)",
                        cls=cls.name,
                        problem=problem,
                        takes=", ".join(parameters(method)) or tr("nothing"),
                    )


def _misfit(call: ast.Call, method: ast.FunctionDef) -> str:
    """What of a call's arguments a forward does not take, or an empty text."""
    spec = method.args
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(
        word.arg is None for word in call.keywords
    ):
        return ""
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:]
    if spec.vararg is None and len(call.args) > len(names):
        return tr(
            "it takes %(number)s positional arguments and is given %(given)s",
            number=len(names),
            given=len(call.args),
        )
    known = {*names, *(arg.arg for arg in spec.kwonlyargs)}
    extra = [word.arg for word in call.keywords if word.arg not in known] if spec.kwarg is None else []
    return tr("it takes no argument `%(name)s`", name=extra[0]) if extra else ""


_RUNS = re.compile(r"\bmodel\w*\(")
_BUILDS = re.compile(r"initialize_megatron|load_checkpoint|parallel_state|\bmpu\b")
_MODEL = re.compile(r"(^|\.|_)(model|net|network)\w*$")


def _is_replaced(project: Project, site: Site) -> bool:
    """Whether code elsewhere puts another module in the place of the one that the constructor builds."""
    func = site.node.func if isinstance(site.node, ast.Call) else None
    return isinstance(func, ast.Attribute) and set_outside(project, func.attr)


def _without_self(problem: str) -> str:
    """Counts as the caller counts them: the binding counts `self`."""
    if not isinstance(problem, Translatable) or "given" not in problem.fields:
        return problem
    return tr(problem.template, **{name: count - 1 for name, count in problem.fields.items()})
