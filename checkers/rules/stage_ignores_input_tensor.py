"""E7206"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..project.project import Project, dotted_name
from ..project.stage_classes import hidden_base, parameters
from ..project.stages import Family
from ..project.training import Training
from ..rule import Rule, Symptom
from ..spmd.stage_paths import MIDDLE, reached
from ..spmd.virtual_stages import VirtualStage, VirtualStages
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageIgnoresInputTensor(Rule):
    """A later stage does not compute from what the previous stage sent, or requires a batch that it is not given."""

    code, symbol = "E7206", "stage-ignores-input-tensor"
    message = "`%(cls)s` runs behind another stage, but its forward does not read `self.input_tensor`"
    advice = (
        "Start the forward with `x = self.input_tensor[0]`, or unpack all that the stage in front sends; its argument "
        "has the default None."
    )
    why = (
        "What the previous stage computed arrives through `set_input_tensor`. A later stage that computes from its "
        "argument sees the raw batch, or None; one whose argument has no default cannot be called without a batch."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the raw batch goes through the later layers, or: missing 1 required positional argument: 'x'"
    limits = "Silent where the order of the stages is not known, or the forward is inherited from outside the tree."
    guide = "1.3 and principle 11, trap 5: later stages use input_tensor only"

    bad = """
    from torch import nn


    class Net_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):  # [stage-ignores-input-tensor]
            return self.layer(x)
    """
    good = """
    from torch import nn


    class Net_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for virtual in analysis.project.knowledge(VirtualStages):
            if ignores_input(analysis.project, virtual):
                forward = virtual.forward.scope.function
                yield self.finding(
                    place_of(virtual.forward.module, forward or virtual.cls.node),
                    object=virtual.cls.name,
                    message="no middle stage of `%(cls)s` computes from `self.%(attr)s`, filled by `set_input_tensor`",
                    advice="On all stages but the first start from what was received: `x = self.%(attr)s`.",
                    cls=virtual.cls.name,
                    attr=virtual.received,
                )
        for flow in analysis.project.knowledge(Boundaries):
            cls = flow.stage.cls
            found = analysis.project.method(cls, "forward")
            if not flow.stage.family.ordered or flow.stage.is_first or found is None:
                continue
            if hidden_base(analysis.project, cls):
                continue
            where = place_of(found[0].module, found[1])
            if not flow.reads_input:
                yield self.finding(where, object=cls.name, cls=cls.name)
                continue
            preferred = _prefers_argument(found[1]) if analysis.project.follows_guide else None
            if preferred is not None:
                yield self.finding(
                    place_of(found[0].module, preferred[1]),
                    object=cls.name,
                    message="`%(cls)s` takes its argument `%(name)s` where it is given one, and what the previous "
                    "stage sent only elsewhere",
                    advice="Take `self.input_tensor` always; `%(name)s` is not for this stage.",
                    cls=cls.name,
                    name=preferred[0],
                )
            missing = _left_out(analysis, flow.stage.family, found[1])
            if missing is not None:
                name, call = missing
                yield self.finding(
                    where,
                    object=cls.name,
                    evidence=(at(call, tr("`%(node)s` does not give it", node=ast.unparse(call.node))),),
                    message="`%(cls)s` runs behind another stage, but its forward requires the argument `%(name)s`",
                    advice="Write `%(name)s=None`: the input comes from `self.input_tensor`.",
                    cls=cls.name,
                    name=name,
                )


def _prefers_argument(forward: ast.FunctionDef) -> tuple[str, ast.AST] | None:
    """A parameter that is used where it is not None, while `self.input_tensor` is read only where it is."""
    for node in walk(forward):
        if not isinstance(node, ast.If | ast.IfExp) or not isinstance(node.test, ast.Compare):
            continue
        name = ast.unparse(node.test.left)
        sides = {f"{name} is None": (node.body, node.orelse), f"{name} is not None": (node.orelse, node.body)}
        absent, given = sides.get(ast.unparse(node.test), (None, None))
        if absent is None or given is None or name not in parameters(forward):
            continue
        reads = _reads_input(absent)
        if not given and isinstance(node, ast.If) and name in _assigned(node.body) and reads:
            if len(reads) == len(_reads_input(forward)):
                return name, node.test
        uses = [part for part in _parts(given) if isinstance(part, ast.Name) and part.id == name]
        if reads and uses and len(reads) == len(_reads_input(forward)):
            return name, node.test
    return None


def _assigned(body: list[ast.stmt]) -> set[str]:
    return {
        part.id for part in _parts(body) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _parts(node: ast.AST | list[ast.stmt]) -> list[ast.AST]:
    return [part for one in (node if isinstance(node, list) else [node]) for part in walk(one)]


def _reads_input(node: ast.AST | list[ast.stmt]) -> list[ast.AST]:
    return [
        part
        for part in _parts(node)
        if isinstance(part, ast.Attribute) and ast.unparse(part) == "self.input_tensor"
    ]


def ignores_input(project: Project, stage: VirtualStage) -> bool:
    """Whether no middle stage computes from what it is given."""
    return bool(stage.received) and not _is_read(project, stage)


def _is_read(project: Project, stage: VirtualStage) -> bool:
    """Whether a middle stage may read what it received: in its forward, or anywhere else but in that."""
    inside = {id(node) for node in walk(stage.forward.scope.function or stage.cls.node)}
    for module in project.modules:
        if stage.received in module.text and not project.is_framework(module):
            if any(_reads(node, stage) and id(node) not in inside for node in walk(module.tree)):
                return True
    return any(_reads(node, stage) for part in reached(stage.forward, MIDDLE) for node in walk(part))


def _reads(node: ast.AST, stage: VirtualStage) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == stage.received and not isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Constant) and node.value == stage.received


def _left_out(analysis: Analysis, family: Family, forward: ast.FunctionDef) -> tuple[str, Site] | None:
    """A required argument that a training script of these stages does not give, and the call."""
    names = list(parameters(forward))
    required = [name for name, default in parameters(forward).items() if default is None]
    for script in analysis.project.knowledge(Training):
        for step in script.forward_steps if required and script.family is family else ():
            model = (step.parameters or [])[1:2]
            for node in step.nodes:
                if not isinstance(node, ast.Call) or [dotted_name(node.func)] != model:
                    continue
                given = {keyword.arg for keyword in node.keywords}
                if None in given or any(isinstance(arg, ast.Starred) for arg in node.args):
                    continue
                absent = [name for name in required if name not in given | set(names[: len(node.args)])]
                if absent:
                    return absent[0], Site(script.module, node)
    return None
