"""E7223"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Edit, Finding, Fix, joined
from ..language import tr
from ..project.project import Project
from ..project.stage_classes import parameters
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
from ..tpstate.callers import sites
from ..tpstate.events import Rejected
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RawConfigForwarded(Rule):
    """A stage resolves its config from a fallback, yet hands the raw parameter to its submodules."""

    code, symbol = "E7223", "raw-config-forwarded"
    message = (
        "`%(held)s` of `%(cls)s` has a fallback, but the submodule is given the raw `%(name)s`, which is "
        "None without one"
    )
    advice = "Write `config=%(held)s`."
    why = "The fallback exists because the parameter may be None. Then the parallel layers get None."
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'NoneType' object has no attribute 'tensor_model_parallel_size'"
    limits = (
        "Silent where the parameter is assigned before it is handed on, where it has no default None, and where the "
        "submodule takes no config at all (style-arguments-rejected)."
    )
    guide = "1.2: config of a stage"
    fix_kind = "safe"
    fix_note = (
        "Where a config is given, both names hold it. Where the stage makes its own in any case, a reader "
        "has to say which of the two is meant."
    )

    bad = """
    from megatron.training import get_args
    from megatron.training.arguments import core_transformer_config_from_args
    from onescience.modules import OneFuser
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim, config=None, **kwargs):
            super().__init__()
            self.config = core_transformer_config_from_args(get_args()) if config is None else config
            self.input_tensor = None
            self.layer = OneFuser(style="NetDistributedFuser", dim=dim, config=config)  # [raw-config-forwarded]

        def forward(self, x):
            return self.layer(x)
    """
    good = """
    from megatron.training import get_args
    from megatron.training.arguments import core_transformer_config_from_args
    from onescience.modules import OneFuser
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim, config=None, **kwargs):
            super().__init__()
            self.config = core_transformer_config_from_args(get_args()) if config is None else config
            self.input_tensor = None
            self.layer = OneFuser(style="NetDistributedFuser", dim=dim, config=self.config)

        def forward(self, x):
            return self.layer(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        rejected = _rejected(analysis)
        for stage in analysis.project.knowledge(Stages):
            init = stage.cls.methods.get("__init__")
            if init is None:
                continue
            for name, default in parameters(init).items():
                if "config" in name and isinstance(default, ast.Constant) and default.value is None:
                    found = [
                        finding
                        for finding, call, taken_as in self._handed_on(analysis.project, stage, init, name)
                        if (stage.cls.module.display, *call, taken_as) not in rejected
                    ]
                    if found:
                        yield joined(found, tr("handed on here, too"))

    def _handed_on(
        self, project: Project, stage: Stage, init: ast.FunctionDef, name: str
    ) -> Iterator[tuple[Finding, tuple[int, int], str]]:
        """Each finding with the place of its call and the keyword that takes the config there."""
        resolved = _resolved(init, name) or _in_base(project, stage.cls, init, name)
        if resolved is None or _raises_without(init, name):
            return
        for node in walk(init):
            if (
                not isinstance(node, ast.Call)
                or node.lineno <= resolved.line
                or "super" in ast.unparse(node.func)
            ):
                continue
            for keyword in node.keywords:
                value = keyword.value
                if (
                    keyword.arg
                    and "config" in keyword.arg
                    and isinstance(value, ast.Name)
                    and value.id == name
                ):
                    where = place_of(stage.cls.module, value)
                    fix = Fix("safe" if resolved.is_same else "unsafe", (Edit(where, resolved.name),))
                    found = self.finding(
                        where,
                        object=stage.cls.name,
                        fix=fix,
                        cls=stage.cls.name,
                        name=name,
                        held=resolved.name,
                    )
                    yield found, (node.lineno, node.col_offset), keyword.arg


def _rejected(analysis: Analysis) -> set[tuple[str, int, int, str]]:
    """Calls, and the keywords of theirs that the class they build does not take: another value would not help."""
    return {
        (*site.key, event.parameter)
        for event in analysis.log.events
        if type(event) is Rejected
        for site in sites(event)
    }


@dataclass(frozen=True)
class _Resolved:
    """Where a constructor works out its config: the name that it gives it, and whether a config that is given stays."""

    line: int
    name: str
    is_same: bool


def _resolved(init: ast.FunctionDef, parameter: str) -> _Resolved | None:
    """`self.config = other() if config is None else config`, to a local name, or on both sides of an `if`."""
    found = None
    for node in walk(init):
        if isinstance(node, ast.Assign):
            for target in map(ast.unparse, node.targets):
                if target == parameter:
                    return None
                is_same = isinstance(node.value, ast.IfExp | ast.BoolOp)
                is_local = is_same and isinstance(node.targets[0], ast.Name) and _calls(node.value)
                if (target == "self.config" or is_local) and _has_fallback(node.value, parameter):
                    if found is None or target == "self.config":
                        found = _Resolved(node.lineno, target, is_same)
        elif isinstance(node, ast.If) and (target := _on_both_sides(node, parameter)):
            found = _Resolved(node.lineno, target, True)
    return found


def _in_base(project: Project, cls: ClassFacts, init: ast.FunctionDef, name: str) -> _Resolved | None:
    """`super().__init__(…, config)` where the base works out its `self.config` of that parameter."""
    above = [entry for entry in project.mro(cls)[1:] if isinstance(entry, ClassFacts)]
    base = next((entry.methods["__init__"] for entry in above if "__init__" in entry.methods), None)
    names = [node for node in walk(init) if isinstance(node, ast.Name) and node.id == name]
    if base is None or any(isinstance(node.ctx, ast.Store) for node in names):
        return None
    for node in walk(init):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            places = [arg.arg for arg in (*base.args.posonlyargs, *base.args.args)][1:]
            given = [
                *zip(places, node.args, strict=False),
                *((word.arg, word.value) for word in node.keywords),
            ]
            for parameter, value in given:
                if parameter is not None and isinstance(value, ast.Name) and value.id == name:
                    if _sets_own_config(base, parameter):
                        return _Resolved(node.lineno, "self.config", True)
    return None


def _sets_own_config(init: ast.FunctionDef, parameter: str) -> bool:
    """Whether a constructor stores a config that has a fallback: also by setting the parameter where it is None."""
    found = _resolved(init, parameter)
    if found is not None:
        return found.name == "self.config"
    filled = any(
        isinstance(node, ast.If)
        and ast.unparse(node.test) in (f"{parameter} is None", f"not {parameter}")
        and any(
            isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == parameter for part in node.body
        )
        for node in walk(init)
    )
    return filled and f"self.config = {parameter}" in ast.unparse(init)


def _calls(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(value))


def _on_both_sides(node: ast.If, parameter: str) -> str:
    """What `if config is None: self.config = other() else: self.config = config` sets."""
    if ast.unparse(node.test) not in (
        f"{parameter} is None",
        f"not {parameter}",
        f"{parameter} is not None",
        parameter,
    ):
        return ""
    set_: list[dict[str, ast.expr]] = []
    for body in (node.body, node.orelse):
        parts = [part for part in body if isinstance(part, ast.Assign)]
        set_.append({ast.unparse(target): part.value for part in parts for target in part.targets})
    for target in set_[0].keys() & set_[1].keys():
        given = [ast.unparse(side[target]) == parameter for side in set_]
        if target != parameter and given.count(True) == 1:
            return target
    return ""


def _has_fallback(value: ast.expr, name: str) -> bool:
    """Whether a value does not rest on the parameter alone: `other() if config is None else config`, or `other()`."""
    if isinstance(value, ast.IfExp | ast.BoolOp):
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
    return isinstance(value, ast.Call) and not any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)
    )


def _raises_without(init: ast.FunctionDef, name: str) -> bool:
    """Whether the constructor refuses a parameter that is None."""
    for node in walk(init):
        if isinstance(node, ast.Assert) and ast.unparse(node.test).startswith(f"{name} is not None"):
            return True
        if isinstance(node, ast.If) and ast.unparse(node.test) in (f"{name} is None", f"not {name}"):
            if any(isinstance(part, ast.Raise) for part in node.body):
                return True
    return False
