"""E7514"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Edit, Finding, Fix, Place
from ..language import tr
from ..project.training import Training, TrainingScript
from ..rule import Rule, Scope, Symptom
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NAMES = frozenset({"pretrain", "get_args", "mpu", "parallel_state", "core_transformer_config_from_args"})


class ForeignTrainingImport(Rule):
    """`pretrain`, `get_args` or `mpu` is imported from another place than the training framework."""

    code, symbol = "E7514", "foreign-training-import"
    message = "`%(name)s` is imported from `%(source)s`, %(contradiction)s"
    advice = "Import it from the framework that is used here: `from %(right)s import %(name)s`."
    why = (
        "Each copy of the framework has arguments and process groups of its own. Only the copy whose `pretrain` runs "
        "sets them up; the other one stays empty."
    )
    symptom = Symptom.CRASH
    runtime = "AssertionError: pipeline_model parallel group is not initialized"
    limits = "Only for scripts that train stages. The setting `framework` names the places that are right."
    guide = "3 imports of the training interface"
    scope = Scope.GUIDE
    fix_kind = "unsafe"
    fix_note = "The other framework may have another version, with other arguments."

    bad = """
    from onescience.distributed.megatron.training import get_args, pretrain
    from megatron.core import mpu  # [foreign-training-import]
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from stages import Net_stage0, Net_stage1


    def model_provider(pre_process=False, post_process=True):
        stage_shapes = [[[1, 96, 32], [1, 96, 32]]]
        get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=stage_shapes)
        return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()](dim=32)
    """
    good = """
    from onescience.distributed.megatron.training import get_args, pretrain
    from onescience.distributed.megatron.core import mpu
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from stages import Net_stage0, Net_stage1


    def model_provider(pre_process=False, post_process=True):
        stage_shapes = [[[1, 96, 32], [1, 96, 32]]]
        get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=stage_shapes)
        return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()](dim=32)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            if script.drives_stages:
                yield from self._check_script(script)

    def _check_script(self, script: TrainingScript) -> Iterator[Finding]:
        imports = list(_training_imports(script))
        first = next(
            ((name, home, node) for name, _, home, node in imports if home and name == "pretrain"), None
        )
        first = first or next(((name, home, node) for name, _, home, node in imports if home), None)
        for name, source, home, node in imports:
            if home and (first is None or home == first[1]):
                continue
            if home and first is not None:
                there = tr(
                    "`%(first)s` (line %(line)s) from `%(source)s`",
                    first=first[0],
                    line=first[2].lineno,
                    source=first[1],
                )
                contradiction = tr("but %(there)s: two copies of the framework", there=there)
            else:
                contradiction = tr("which is not the training framework")
            right = first[1] if first is not None else script.project.settings.framework[0]
            steps = (
                ()
                if first is None
                else (
                    at(
                        Site(script.module, first[2]),
                        tr("`%(first)s` comes from `%(source)s`", first=first[0], source=first[1]),
                    ),
                )
            )
            yield self.finding(
                place_of(script.module, node),
                object=name,
                fix=_move(script, node, source, home, right),
                evidence=steps,
                name=name,
                source=source,
                contradiction=contradiction,
                right=_moved(source, home, right, name),
            )


def _training_imports(script: TrainingScript) -> Iterator[tuple[str, str, str, ast.ImportFrom]]:
    """Name, module, the framework it belongs to ("" for none) and statement of what is imported for training."""
    for edge in script.module.edges:
        for name in edge.names:
            source = script.module.absolute(edge.module)
            is_training = (
                "megatron" in source or "training" in source or "mpu" in source or "parallel" in source
            )
            if name in _NAMES and isinstance(edge.node, ast.ImportFrom) and is_training:
                yield name, source, _home(script, source), edge.node


_HOMES = {"pretrain": "training", "get_args": "training", "mpu": "core", "parallel_state": "core"}


def _moved(source: str, home: str, right: str, name: str) -> str:
    """The module of the right framework: the same part of it, or where the name lives there."""
    return f"{right}{source[len(home) :]}" if home else f"{right}.{_HOMES.get(name, 'training.arguments')}"


def _move(script: TrainingScript, node: ast.ImportFrom, source: str, home: str, right: str) -> Fix | None:
    """Another module in the import; None for a relative one, and where it brings names of another kind along."""
    places = {_moved(source, home, right, alias.name) for alias in node.names}
    line = script.module.lines[node.lineno - 1].encode()[node.col_offset :].decode()
    if len(places) > 1 or node.level or not line.startswith(f"from {source} import"):
        return None
    whole = place_of(script.module, node)
    start = whole.column + len("from ")
    at_name = Place(whole.path, whole.line, start, whole.line, start + len(source))
    return Fix("unsafe", (Edit(at_name, places.pop()),))


def _home(script: TrainingScript, source: str) -> str:
    prefixes = sorted(script.project.settings.framework, key=len, reverse=True)
    return next((prefix for prefix in prefixes if f"{source}.".startswith(f"{prefix}.")), "")
