"""W7552"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import dotted_name
from ..project.script_twins import (
    Built,
    ScriptTwin,
    original_loss,
    parameters,
    script_twins,
    staged_loss,
)
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class TrainingDiffersFromOriginal(Rule):
    """The script of the stages gives the model or the loss something else than the script of the original."""

    code, symbol = "W7552", "training-differs-from-original"
    message = "%(problem)s"
    advice = "Give it what the original's script gives."
    why = (
        "The stages are one model with the original. An argument that is left out has its default, whatever the "
        "configuration says, and another loss trains for something else; nothing fails."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: the run ignores a setting, or its losses are no more those of the original"
    limits = (
        "Scripts that build the original, or its stages, by one call whose arguments can all be seen. Other "
        "values of the configuration are no difference, nor are other names of its keys."
    )
    guide = "1.2: parameters and initialisation stay those of the original"
    scope = Scope.GUIDE

    bad = """
    from megatron.core import mpu
    from megatron.training import pretrain
    from torch import nn


    class Tern(nn.Module):
        def __init__(self, dim=64, drop=0.0):
            super().__init__()
            self.mix = nn.Linear(dim, dim)
            self.drop = nn.Dropout(drop)

        def forward(self, x):
            return self.drop(self.mix(x))


    class Tern_stage0(nn.Module):
        def __init__(self, dim=64, drop=0.0, config=None, **kwargs):
            super().__init__()
            self.config, self.input_tensor = config, None
            self.mix = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return (self.mix(x),)


    class Tern_stage1(nn.Module):
        def __init__(self, dim=64, drop=0.0, config=None, **kwargs):
            super().__init__()
            self.config, self.input_tensor = config, None
            self.drop = nn.Dropout(drop)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            (x,) = self.input_tensor
            return self.drop(x)


    def train_plain(cfg, loader, loss):
        model = Tern(dim=cfg.dim, drop=cfg.drop)
        for x, y in loader:
            loss(model(x), y).backward()


    def model_provider(cfg, config):
        stages = {0: Tern_stage0, 1: Tern_stage1}
        stage_cls = stages[mpu.get_pipeline_model_parallel_rank()]
        return stage_cls(dim=cfg.dim, config=config)  # [training-differs-from-original]


    pretrain(model_provider=model_provider)
    """
    good = bad.replace(
        "(dim=cfg.dim, config=config)  # [training-differs-from-original]",
        "(dim=cfg.dim, drop=cfg.drop, config=config)",
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for twin in script_twins(analysis.project):
            yield from self._model(analysis, twin)
            yield from self._loss(twin)

    def _model(self, analysis: Analysis, twin: ScriptTwin) -> Iterator[Finding]:
        taken = [parameters(analysis.project, cls) for cls in twin.stages]
        first, mine = twin.first, twin.mine
        fields = {name: _field(first, value) for name, value in first.given.items()}
        for name, theirs in first.given.items():
            if not all(name in names for names in taken):
                continue
            if name not in mine.given:
                if all(_is_default(names[name], theirs) for names in taken):
                    continue
                problem = tr(
                    "`%(name)s` is not given to the stages; the original `%(original)s` gets `%(value)s`",
                    name=name,
                    original=twin.original.name,
                    value=ast.unparse(theirs),
                )
                yield self._finding(twin, mine.node, first, problem)
                continue
            own, field = _field(mine, mine.given[name]), fields[name]
            if own and field and own != field and own in fields.values():
                problem = tr(
                    "the stages get `%(mine)s` for `%(name)s`; the original `%(original)s` gets `%(value)s`",
                    mine=ast.unparse(mine.given[name]),
                    name=name,
                    original=twin.original.name,
                    value=ast.unparse(theirs),
                )
                yield self._finding(twin, mine.given[name], first, problem)

    def _finding(self, twin: ScriptTwin, node: ast.expr, first: Built, problem: str) -> Finding:
        at = first.where.module.display
        return self.finding(
            place_of(twin.mine.where.module, node),
            object=twin.original.name,
            evidence=(Evidence(at, first.node.lineno, tr("the original is built here")),),
            problem=problem,
        )

    def _loss(self, twin: ScriptTwin) -> Iterator[Finding]:
        theirs, mine = original_loss(twin), staged_loss(twin)
        if theirs is None or mine is None or theirs.ref is None:
            return
        name = theirs.name.rsplit(".", 1)[-1]
        if theirs.ref == mine.ref and theirs.count > mine.count:
            problem = tr(
                "`%(name)s` gets %(mine)s values; %(theirs)s in the script of the original",
                name=name,
                mine=mine.count,
                theirs=theirs.count,
            )
        elif theirs.ref != mine.ref and name not in _named(twin):
            problem = tr(
                "the loss is `%(mine)s`; the original trains with `%(name)s`",
                mine=ast.unparse(mine.node)[:60],
                name=name,
            )
        else:
            return
        at = theirs.where.module.display
        yield self.finding(
            place_of(mine.where.module, mine.node),
            object=twin.original.name,
            evidence=(Evidence(at, theirs.node.lineno, tr("the loss of the original")),),
            problem=problem,
        )


def _named(twin: ScriptTwin) -> set[str]:
    """What the script of the stages calls, where it is not the original that is trained."""
    plain = twin.first.where
    return {
        (dotted_name(node.func) or "").rsplit(".", 1)[-1]
        for node, scope in twin.script.calls
        if scope.module is not plain.module or scope.function is not plain.function
    }


def _field(built: Built, node: ast.expr) -> str:
    """The field of a configuration that an argument is: `cfg.model.drop` is `drop`."""
    if isinstance(node, ast.Name):
        node = built.where.value(node.id) or node
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_default(default: ast.expr | None, given: ast.expr) -> bool:
    return default is not None and ast.dump(default) == ast.dump(given)
