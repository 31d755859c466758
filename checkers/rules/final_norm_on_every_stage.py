"""E7242"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, Scopes
from ..spmd.stage_paths import MIDDLE
from ..spmd.virtual_stages import certain, part_of, staged_classes, stores
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NORM = re.compile(r"norm|(^|_)ln(_|$)", re.IGNORECASE)
_CUT = re.compile(r"pipeline_(model_)?parallel|get_num_layers_to_build|\bpp_size\b|\bpp_rank\b|stage_layers")


class FinalNormOnEveryStage(Rule):
    """The norm behind all layers runs behind the layers of each pipeline stage."""

    code, symbol = "E7242", "final-norm-on-every-stage"
    message = "`self.%(norm)s` runs behind the layers of every stage, not behind the last layer alone"
    advice = "Build and call `self.%(norm)s` under `if self.post_process:` alone."
    why = "Each stage holds a part of the layers. A norm behind each part changes what the model computes."
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Nothing fails; the loss differs from the run with one stage, and checkpoints hold several norms."
    )
    limits = (
        "Only in a class that takes `post_process`, whose layers are a ModuleList cut by the pipeline, and for a norm "
        "that is surely built and surely called."
    )
    guide = "beyond the guide; 1.1 gives each stage its part of the layers"

    bad = """
    from megatron.core import parallel_state
    from torch import nn


    class Decoder(nn.Module):
        def __init__(self, depth, dim, post_process):
            super().__init__()
            self.post_process = post_process
            count = depth // parallel_state.get_pipeline_model_parallel_world_size()
            self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(count))
            self.final_norm = nn.LayerNorm(dim)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.final_norm(x)  # [final-norm-on-every-stage]
    """
    good = """
    from megatron.core import parallel_state
    from torch import nn


    class Decoder(nn.Module):
        def __init__(self, depth, dim, post_process):
            super().__init__()
            self.post_process = post_process
            count = depth // parallel_state.get_pipeline_model_parallel_world_size()
            self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(count))
            if post_process:
                self.final_norm = nn.LayerNorm(dim)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return self.final_norm(x) if self.post_process else x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for cls in staged_classes(analysis.project):
            init, forward = cls.methods.get("__init__"), cls.methods.get("forward")
            if init is None or forward is None or "post_process" not in [arg.arg for arg in init.args.args]:
                continue
            if "ModuleList" in cls.text and cls.module.says(_CUT):
                scopes = analysis.project.knowledge(Scopes)
                frames = [
                    Frame(analysis.project, scopes.of(cls.module, part), cls) for part in (init, forward)
                ]
                yield from self._check(cls, *frames)

    def _check(self, cls: ClassFacts, init: Frame, forward: Frame) -> Iterator[Finding]:
        built = _built(init)
        carried = ""
        for statement in _flat(certain(forward, MIDDLE), built):
            if isinstance(statement, ast.For):
                layers = _attribute(statement.iter)
                given = [value for value, _ in forward.definitions(statement.iter)] if layers else []
                if any("ModuleList" in ast.unparse(value) for value in given):
                    carried = next(
                        iter(stores(ast.Module(statement.body, [])) - stores(statement.target)), ""
                    )
                continue
            value = getattr(statement, "value", None)
            if not isinstance(value, ast.Call) or not value.args:
                continue
            norm = _attribute(value.func)
            is_last = norm in built and bool(carried) and ast.unparse(value.args[0]) == carried
            if is_last and _is_norm(norm, value, forward):
                text = tr("`self.%(norm)s` is built on every stage", norm=norm)
                yield self.finding(
                    place_of(cls.module, value),
                    object=cls.name,
                    evidence=(Evidence(cls.module.display, built[norm], text),),
                    norm=norm,
                )
                return


def _flat(statements: list[ast.stmt], built: dict[str, int]) -> Iterator[ast.stmt]:
    """Statements, with those behind a test that what is surely built is there."""
    for statement in statements:
        if isinstance(statement, ast.If) and _asks_for(statement.test) in built:
            yield from statement.body
        else:
            yield statement


def _asks_for(test: ast.expr) -> str:
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
        return _attribute(test.left)
    return _attribute(test)


def _attribute(node: ast.expr) -> str:
    is_own = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    return node.attr if is_own and isinstance(node, ast.Attribute) else ""


def _built(init: Frame) -> dict[str, int]:
    """Attributes that a middle stage surely gives a module."""
    found: dict[str, int] = {}
    for statement in certain(init, MIDDLE):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            name = _attribute(statement.targets[0])
            if name and len(init.definitions(statement.targets[0])) == 1:
                found[name] = statement.lineno
    return found


def _is_norm(name: str, call: ast.Call, frame: Frame) -> bool:
    part = part_of(call.func, frame)
    return bool(_NORM.search(name)) or bool(_NORM.search(part if isinstance(part, str) else part.name))
