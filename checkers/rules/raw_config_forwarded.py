"""E7223"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Edit, Finding, Fix
from ..project.stage_classes import parameters
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
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
        "Silent where the parameter is assigned before it is handed on, and where it has no default None."
    )
    guide = "1.2: config of a stage"
    fix_kind = "safe"

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
        for stage in analysis.project.knowledge(Stages):
            init = stage.cls.methods.get("__init__")
            if init is None:
                continue
            for name, default in parameters(init).items():
                if "config" in name and isinstance(default, ast.Constant) and default.value is None:
                    yield from self._handed_on(stage, init, name)

    def _handed_on(self, stage: Stage, init: ast.FunctionDef, name: str) -> Iterator[Finding]:
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
                    fix = Fix("safe", (Edit(where, "self.config"),))
                    yield self.finding(where, object=stage.cls.name, fix=fix, cls=stage.cls.name, name=name)


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
