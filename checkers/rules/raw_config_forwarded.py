"""E7223"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Edit, Finding, Fix, joined
from ..language import tr
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
        "`self.config` of `%(cls)s` has a fallback, but the submodule is given the raw `%(name)s`, which is "
        "None without one"
    )
    advice = "Write `config=self.config`."
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
                        for finding, call, taken_as in self._handed_on(stage, init, name)
                        if (stage.cls.module.display, *call, taken_as) not in rejected
                    ]
                    if found:
                        yield joined(found, tr("handed on here, too"))

    def _handed_on(
        self, stage: Stage, init: ast.FunctionDef, name: str
    ) -> Iterator[tuple[Finding, tuple[int, int], str]]:
        """Each finding with the place of its call and the keyword that takes the config there."""
        resolved: ast.Assign | None = None
        for node in walk(init):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        return
                    if ast.unparse(target) == "self.config" and _has_fallback(node.value, name):
                        resolved = node
        if resolved is None or _raises_without(init, name):
            return
        for node in walk(init):
            if (
                not isinstance(node, ast.Call)
                or node.lineno <= resolved.lineno
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
                    is_same = isinstance(resolved.value, ast.IfExp | ast.BoolOp)  # where a config is given
                    fix = Fix("safe" if is_same else "unsafe", (Edit(where, "self.config"),))
                    found = self.finding(where, object=stage.cls.name, fix=fix, cls=stage.cls.name, name=name)
                    yield found, (node.lineno, node.col_offset), keyword.arg


def _rejected(analysis: Analysis) -> set[tuple[str, int, int, str]]:
    """Calls, and the keywords of theirs that the class they build does not take: another value would not help."""
    return {
        (*site.key, event.parameter)
        for event in analysis.log.events
        if type(event) is Rejected
        for site in sites(event)
    }


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
