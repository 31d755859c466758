"""W7222"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..finding import Edit, Finding, Place, joined
from ..language import tr
from ..project.originals import Originals
from ..project.project import Project
from ..project.spelling import of_same_meaning, spelling
from ..project.stage_calls import stage_calls
from ..project.stage_classes import parameters
from ..project.stages import Stage, Stages
from ..project.training import Training, TrainingScript
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import rename_keyword, replace, unsafe
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
    limits = (
        "Defaults that are plain values; names only where one is a common spelling of the other, or "
        "stands between the same neighbours with the same default."
    )
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
        for script in project.knowledge(Training):
            yield from self._swallowed(script)
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
                    yield joined(stages, tr("and here, too"))

    def _swallowed(self, script: TrainingScript) -> Iterator[Finding]:
        """Keywords of a script that a stage's `**kwargs` takes while the parameter meant keeps its default."""
        seen: set[tuple[int, str]] = set()
        for call, _, stage in stage_calls(script):
            init = stage.cls.methods.get("__init__")
            rest = init.args.kwarg if init is not None else None
            if init is None or rest is None or any(keyword.arg is None for keyword in call.keywords):
                continue
            if any(isinstance(node, ast.Name) and node.id == rest.arg for node in walk(init)):
                continue
            names = list(parameters(init))
            given = {keyword.arg for keyword in call.keywords} | set(names[: len(call.args)])
            free = [name for name in names if name not in given]
            for keyword in call.keywords:
                meant = of_same_meaning(keyword.arg or "", free) if keyword.arg not in names else None
                if meant is not None and keyword.arg is not None and (id(call), keyword.arg) not in seen:
                    seen.add((id(call), keyword.arg))
                    yield self.finding(
                        place_of(script.module, keyword),
                        object=stage.cls.name,
                        fix=unsafe(rename_keyword(script.module, call, keyword.arg, meant)),
                        message="`%(name)s` is no parameter of `%(cls)s`: `**%(rest)s` swallows it, and `%(meant)s` "
                        "keeps its default",
                        name=keyword.arg,
                        cls=stage.cls.name,
                        rest=rest.arg,
                        meant=meant,
                        typed=tr(
                            "Write `%(meant)s=%(value)s`.", meant=meant, value=ast.unparse(keyword.value)
                        ),
                    )

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
                    typed=tr(
                        "Write %(theirs_text)s here, or change the default of `%(original)s` too.",
                        theirs_text=theirs_text,
                        original=original.name,
                    ),
                    **fields,  # type: ignore[arg-type]
                )
            elif name not in theirs and (
                right := renamed.get(spelling(name)) or _at_its_place(name, mine, theirs)
            ):
                yield self.finding(
                    where,
                    fix=unsafe(*_renamed(stage.cls.module, init, nodes[name], right)),
                    mine=f"`{name}`",
                    theirs=f"`{right}`",
                    typed=tr(
                        "Rename `%(name)s` to `%(right)s`, here and in the calls that name it.",
                        name=name,
                        right=right,
                    ),
                    **fields,  # type: ignore[arg-type]
                )


def _at_its_place(
    name: str, mine: dict[str, ast.expr | None], theirs: dict[str, ast.expr | None]
) -> str | None:
    """The original's parameter between the same neighbours, with the same default, that the stage does not have."""
    ours, others = list(mine), list(theirs)
    at = ours.index(name)
    before, after = ours[at - 1] if at else None, ours[at + 1] if at + 1 < len(ours) else None
    for index, other in enumerate(others):
        around = (
            others[index - 1] if index else None,
            others[index + 1] if index + 1 < len(others) else None,
        )
        if other in mine or around != (before, after) or around == (None, None):
            continue
        left, right = mine[name], theirs[other]
        if left is not None and right is not None and ast.unparse(left) == ast.unparse(right):
            return other
    return None


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
