"""W7222"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..finding import Edit, Finding, Place, joined
from ..project.originals import Originals
from ..project.project import Project
from ..project.spelling import spelling
from ..project.stage_classes import parameters
from ..project.stages import Stage, Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageSignatureDrift(Rule):
    """A stage gives a parameter of the original model another name or default."""

    code, symbol = "W7222", "stage-signature-drift"
    message = "`%(cls)s.__init__` has %(mine)s where the original `%(original)s` has %(theirs)s"
    advice = "%(typed)s"
    why = (
        "The training script, the checkpoints and the reader take the stages for the original model cut in "
        "pieces. A default that differs builds another model where the script is silent."
    )
    symptom = Symptom.TRAP
    runtime = "a stage is built with another size than the original model"
    limits = "Defaults that are plain values; names only where one is a common spelling of the other."
    guide = "Principles: keep the parameters consistent"
    scope = Scope.GUIDE
    fix_kind = "unsafe"
    fix_note = "Callers that rely on the default or the name of the stage change with it."

    bad = """
    from torch import nn


    class Net(nn.Module):
        def __init__(self, img_size=(721, 1440), embed_dim=192):
            super().__init__()

        def forward(self, x):
            return x


    class Net_stage0(nn.Module):
        def __init__(self, img_size=(721, 1440), embed_dim=96):  # [stage-signature-drift]
            super().__init__()
            self.input_tensor = None

        def forward(self, x):
            return x
    """
    good = """
    from torch import nn


    class Net(nn.Module):
        def __init__(self, img_size=(721, 1440), embed_dim=192):
            super().__init__()

        def forward(self, x):
            return x


    class Net_stage0(nn.Module):
        def __init__(self, img_size=(721, 1440), embed_dim=192, config=None):
            super().__init__()
            self.input_tensor = None

        def forward(self, x):
            return x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for family in project.knowledge(Stages).families:
            original = project.knowledge(Originals).of(family)
            if original is None or not all(stage.rank is not None for stage in family.stages):
                continue
            found = project.method(original, "__init__")
            if found is not None:
                alike: dict[str, list[Finding]] = {}
                for stage in family.stages:
                    for finding in self._compare(project, stage, original, parameters(found[1])):
                        text = finding.message.replace(stage.cls.name, "", 1)
                        alike.setdefault(text, []).append(finding)
                for stages in alike.values():
                    yield joined(stages, "and here, too")

    def _compare(
        self, project: Project, stage: Stage, original: ClassFacts, theirs: dict[str, ast.expr | None]
    ) -> Iterator[Finding]:
        init = stage.cls.methods.get("__init__")
        if init is None:
            return
        mine = parameters(init)
        nodes = {arg.arg: arg for arg in (*init.args.args, *init.args.kwonlyargs)}
        renamed = {spelling(name): name for name in theirs if name not in mine}
        for name, default in mine.items():
            if name in ("config", "megatron_config"):
                continue
            wanted = theirs.get(name)
            where = place_of(stage.cls.module, nodes[name])
            fields = {"object": stage.cls.name, "cls": stage.cls.name, "original": original.name}
            if name in theirs and _differ(default, wanted):
                mine_text, theirs_text = (
                    f"`{name}={ast.unparse(value)}`" for value in (default, wanted) if value is not None
                )
                yield self.finding(
                    where,
                    fix=unsafe(replace(stage.cls.module, default, ast.unparse(wanted)))
                    if default and wanted
                    else None,
                    mine=mine_text,
                    theirs=theirs_text,
                    typed=f"Write {theirs_text} here, or change the default of `{original.name}` too.",
                    **fields,  # type: ignore[arg-type]
                )
            elif name not in theirs and spelling(name) in renamed:
                right = renamed[spelling(name)]
                yield self.finding(
                    where,
                    fix=unsafe(*_renamed(stage.cls.module, init, nodes[name], right)),
                    mine=f"`{name}`",
                    theirs=f"`{right}`",
                    typed=f"Rename `{name}` to `{right}`, here and in the calls that name it.",
                    **fields,  # type: ignore[arg-type]
                )


def _renamed(module: ModuleFacts, init: ast.FunctionDef, parameter: ast.arg, right: str) -> Iterator[Edit]:
    """The parameter and its uses in the constructor under another name."""
    start = place_of(module, parameter)
    end = start.column + len(parameter.arg)
    yield Edit(Place(start.path, start.line, start.column, start.line, end), right)
    for node in walk(init):
        if isinstance(node, ast.Name) and node.id == parameter.arg:
            yield replace(module, node, right)


def _differ(mine: ast.expr | None, theirs: ast.expr | None) -> bool:
    """Whether two defaults are plain values that differ; a list and a tuple of the same items do not."""
    try:
        left, right = (ast.literal_eval(value) for value in (mine, theirs) if value is not None)
    except (ValueError, TypeError, SyntaxError):
        return False
    if left is None or right is None:
        return False
    return (list(left) if isinstance(left, tuple | list) else left) != (
        list(right) if isinstance(right, tuple | list) else right
    )
