"""W7516"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..finding import Finding
from ..project.boundary import Boundaries
from ..project.project import External, Project
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..spmd.stage_paths import MIDDLE
from ..spmd.virtual_stages import VirtualStages, certain, chosen
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DESCRIBED = re.compile(
    r"PipelineTensorShapeConfig|pipeline_tensor_shape|stage_shapes|tensor_shapes|pack_tensors|unpack_tensors"
)
_TAKES = re.compile(
    r"^[ \t]*\(?((?:\w+[ \t]*,[ \t]*)+\w+),?\)?[ \t]*=[ \t]*(?:tuple\(|list\()?self\.input_tensor\)?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)


class MultiTensorOnStockSchedule(Rule):
    """A stage sends several tensors on Megatron's own schedule, which carries one."""

    code, symbol = "W7516", "multi-tensor-on-stock-schedule"
    message = (
        "`%(stage)s` sends %(count)d tensors, and the stock Megatron schedule carries one for each boundary"
    )
    advice = (
        "Pack them, `%(typed)s`, and take them apart on the next stage (`chunk(%(count)d, dim=-1)`); or use a schedule "
        "that knows several shapes."
    )
    why = (
        "The point-to-point code of Megatron allocates one receive buffer of (sequence, batch, hidden) and sends back "
        "the gradient of the first output alone."
    )
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'tuple' object has no attribute 'shape' in the point-to-point call"
    limits = "Silent where anything in the project describes the shapes or packs the tensors, and for other frameworks."
    guide = "beyond the guide; 3.1 describes the shapes that the OneScience schedule needs"

    bad = """
    from megatron.core.transformer.module import MegatronModule


    class Encoder(MegatronModule):
        def set_input_tensor(self, tensors):
            self.input_tensor = tensors

        def forward(self, x):
            skip = self.enter(x)
            return self.deep(skip), skip  # [multi-tensor-on-stock-schedule]


    class Decoder(MegatronModule):
        def set_input_tensor(self, tensors):
            self.input_tensor = tensors

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.leave(x + skip)
    """
    good = """
    import torch
    from megatron.core.transformer.module import MegatronModule


    class Encoder(MegatronModule):
        def set_input_tensor(self, tensors):
            self.input_tensor = tensors

        def forward(self, x):
            skip = self.enter(x)
            return torch.cat([self.deep(skip), skip], dim=-1)


    class Decoder(MegatronModule):
        def set_input_tensor(self, tensors):
            self.input_tensor = tensors

        def forward(self, x=None):
            x, skip = self.input_tensor[0].chunk(2, dim=-1)
            return self.leave(x + skip)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        yield from self._virtual(project)
        stages = [
            stage
            for stage in project.knowledge(Stages)
            if not stage.is_last and _is_stock(project, stage.cls)
        ]
        if not stages or any(
            module.says(_DESCRIBED) for module in project.modules if not project.is_framework(module)
        ):
            return
        for stage in stages:
            takers = _takers(stage)
            for node, count in _several(project, stage):
                if count in takers:
                    place = place_of(stage.cls.module, node)
                    parts = (
                        node.value.elts
                        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)
                        else []
                    )
                    typed = f"return torch.cat([{', '.join(map(ast.unparse, parts)) or '…'}], dim=-1)"
                    yield self.finding(
                        place, object=stage.cls.name, stage=stage.cls.name, count=count, typed=typed
                    )

    def _virtual(self, project: Project) -> Iterator[Finding]:
        """One class for all stages: what a middle one surely returns is sent."""
        for virtual in project.knowledge(VirtualStages):
            if _takes_nothing(virtual.setter.scope.function):
                continue  # no other stage can come before it
            last = certain(virtual.forward, MIDDLE)[-1:]
            value = last[0].value if last and isinstance(last[0], ast.Return) else None
            sent = chosen(value, virtual.forward, MIDDLE) if value is not None else None
            if not isinstance(sent, ast.Tuple | ast.List | ast.Dict) or not _hands_on(project):
                continue
            count = len(sent.keys if isinstance(sent, ast.Dict) else sent.elts)
            yield self.finding(
                place_of(virtual.forward.module, last[0]),
                object=virtual.cls.name,
                message="`%(stage)s` returns `%(sent)s` before the last stage; the schedule sends one tensor",
                advice="Return the hidden state alone; what else the next stage needs, it computes from its own batch.",
                stage=virtual.cls.name,
                sent=ast.unparse(sent),
                count=count,
                typed="",
            )


def _takes_nothing(setter: ast.FunctionDef | None) -> bool:
    """`def set_input_tensor(self, tensor): pass`: the class is for one stage."""
    body = setter.body if setter is not None else []
    return all(
        isinstance(node, ast.Pass | ast.Raise)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in body
    )


def _hands_on(project: Project) -> bool:
    """Whether the training steps of the tree give the schedule what the model returns, as it comes."""
    plain = False
    for frame in functions(project, re.compile(r"\bmodel\(")):
        names, calls = set[str](), [node for node in frame.scope.nodes if _calls_model(node)]
        for node in frame.scope.nodes if calls else ():
            if isinstance(node, ast.Assign) and _calls_model(node.value):
                if not isinstance(node.targets[0], ast.Name):
                    return False
                names.add(node.targets[0].id)
        for node in frame.scope.nodes if calls else ():
            used = _used(node)
            if used is not None and (ast.unparse(used) in names or _calls_model(used)):
                return False
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                plain |= ast.unparse(node.value.elts[0]) in names or _calls_model(node.value.elts[0])
    return plain


def _calls_model(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "model"


def _used(node: ast.AST) -> ast.expr | None:
    """What is taken apart, or asked for its type."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        return node.value
    is_test = isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "len", "type")
    return node.args[0] if is_test and isinstance(node, ast.Call) and node.args else None


def _several(project: Project, stage: Stage) -> Iterator[tuple[ast.AST, int]]:
    """Returns of more than one tensor."""
    seen: set[int] = set()
    for item in project.knowledge(Boundaries).of(stage).sent():
        if item.count > 1 and item.seen.module is stage.cls.module and id(item.seen.node) not in seen:
            seen.add(id(item.seen.node))
            yield item.seen.node, item.count


def _takers(stage: Stage) -> set[int]:
    """How many tensors the classes around a stage take apart: without one, its tuple may be the final result."""
    modules = {id(other.cls.module): other.cls.module for other in stage.family.stages}
    modules[id(stage.cls.module)] = stage.cls.module
    return {match[1].count(",") + 1 for module in modules.values() for match in _TAKES.finditer(module.text)}


def _is_stock(project: Project, cls: ClassFacts) -> bool:
    """Whether the class stands on Megatron itself: by a base class, else by what its file imports."""
    bases = [entry.dotted for entry in project.mro(cls) if isinstance(entry, External)]
    if any(base.startswith("megatron.") for base in bases):
        return True
    return _imports(cls.module, "megatron") and not _imports(cls.module, "onescience")


def _imports(module: ModuleFacts, package: str) -> bool:
    return any(module.absolute(edge.module).split(".")[0] == package for edge in module.edges)
