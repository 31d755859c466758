"""E7538"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.scopes import Scope as Names
from ..project.training import ShapeConfig, Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import either, lines_after, replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ATTRIBUTE = "pipeline_tensor_shape_config"


class StageShapesNotAttached(Rule):
    """The shapes of what crosses the stages are described, and never given to the schedule."""

    code, symbol = "E7538", "stage-shapes-not-attached"
    message = "the PipelineTensorShapeConfig %(problem)s; the schedule reads `get_args().pipeline_tensor_shape_config`"
    advice = "Write `%(typed)s`."
    why = "Without it the schedule receives one tensor of the shape of a language model, on every stage but the first."
    symptom = Symptom.HANG
    runtime = (
        "the ranks wait for sizes that nobody sends, or a shape mismatch in the first stage that receives"
    )
    limits = (
        "Silent where the object is returned, handed to a call or kept elsewhere: it may be attached there."
    )
    guide = "3.1 model_provider: set pipeline_tensor_shape_config"
    fix_kind = "safe"
    fix_note = (
        "The schedule reads nothing else. A misspelt attribute that other code reads under this name "
        "needs a reader."
    )

    bad = """
    from megatron.training import get_args
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from stages import build


    def model_provider(pre_process=False, post_process=True):
        model = build()
        shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32]]])
        get_args().pipeline_tensor_shapes_config = shapes  # [stage-shapes-not-attached]
        return model
    """
    good = """
    from megatron.training import get_args
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from stages import build


    def model_provider(pre_process=False, post_process=True):
        model = build()
        shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32]]])
        get_args().pipeline_tensor_shape_config = shapes
        return model
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            text = script.module.text
            if f'{_ATTRIBUTE}"' in text or f"{_ATTRIBUTE}'" in text:
                continue  # named in a text: setattr, a dictionary of arguments
            for config in script.shape_configs:
                yield from self._config(script, config)

    def _config(self, script: TrainingScript, config: ShapeConfig) -> Iterator[Finding]:
        scope, module = config.scope, script.module
        bound = [node for node in scope.of(ast.Assign) if node.value is config.node]
        if not bound:
            alone = [node for node in scope.of(ast.Expr) if node.value is config.node]
            for statement in alone:
                typed = f"get_args().{_ATTRIBUTE} = {ast.unparse(config.node)}"
                yield self.finding(place_of(module, statement), problem=tr("is kept nowhere"), typed=typed)
            return
        targets = bound[0].targets
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        attributes = [target for target in targets if isinstance(target, ast.Attribute)]
        if len(names) + len(attributes) != len(targets) or any(name in _declared(scope) for name in names):
            return
        for name in names:
            stored, is_open = _uses(scope, name)
            if is_open or scope.function is None:
                return
            attributes += stored
        if any(target.attr == _ATTRIBUTE for target in attributes):
            return
        near = [target for target in attributes if _is_near(target.attr)]
        if near:
            typed = f"{ast.unparse(near[0].value)}.{_ATTRIBUTE}"
            yield self.finding(
                place_of(module, near[0]),
                fix=either(not _is_read(script, near[0].attr), replace(module, near[0], typed)),
                problem=tr("is stored as `%(near)s`", near=near[0].attr),
                typed=f"{typed} = {ast.unparse(_given(names, config))}",
            )
        elif names and not attributes:
            typed = f"get_args().{_ATTRIBUTE} = {names[0]}"
            yield self.finding(
                place_of(module, bound[0]),
                fix=safe(lines_after(module, bound[0], typed)) if "get_args" in module.bindings else None,
                problem=tr("stays in the local variable `%(names)s`", names=names[0]),
                typed=typed,
            )


def _is_read(script: TrainingScript, attribute: str) -> bool:
    """Whether the misspelt attribute stands anywhere else: somebody may read it."""
    named = re.compile(rf"\b{re.escape(attribute)}\b")
    return sum(len(named.findall(module.text)) for module in script.project.modules) > 1


def _given(names: list[str], config: ShapeConfig) -> ast.expr:
    return ast.Name(names[0]) if names else config.node


def _uses(scope: Names, name: str) -> tuple[list[ast.Attribute], bool]:
    """The attributes that a local variable is stored in, and whether it is used in any other way than being read."""
    stored: list[ast.Attribute] = []
    harmless: set[int] = set()
    for node in walk(scope.function) if scope.function is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            found = [target for target in node.targets if isinstance(target, ast.Attribute)]
            if len(found) == len(node.targets):
                stored += found
                harmless.add(id(node.value))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            harmless.add(id(node.value))  # `shapes.num_stages`
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            harmless |= {id(part) for part in ast.walk(node)}
    loads = [
        node
        for node in (walk(scope.function) if scope.function is not None else ())
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return stored, any(id(node) not in harmless for node in loads)


def _declared(scope: Names) -> set[str]:
    return {name for node in scope.of(ast.Global, ast.Nonlocal) for name in node.names}


def _is_near(name: str) -> bool:
    return difflib.SequenceMatcher(None, name.lower(), _ATTRIBUTE).ratio() >= 0.8
