"""E7554"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import disk
from ..files.discovery import display
from ..finding import Evidence, Finding
from ..language import tr
from ..project.config_reads import Configs, YamlFiles
from ..project.project import Project
from ..project.scopes import Scope as Names
from ..project.script_twins import ScriptTwin, parameters, script_twins
from ..project.stage_calls import stage_calls
from ..project.training import Training, TrainingScript
from ..project.yaml_config import MissingKey, look_up
from ..rule import Rule, Scope, Symptom
from ..tpstate.stage_models import HEAD_COUNTS, WIDTHS
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..facts.module import ClassFacts
    from ..tpstate.analysis import Analysis

_RATE = re.compile(r"^(\w+_)?(drop|dropout|drop_path|drop_rate|drop_path_rate|dropout_p)$")
_SCALES = (1, 2, 4, 8)
"""Coarser grids have so many times the channels of the finest."""


@dataclass(frozen=True, eq=False)
class Value:
    """What one YAML file gives for an argument of the call that builds the stages."""

    name: str
    node: ast.expr
    file: Path
    key: str
    value: Any


class ConfigValuesImpossible(Rule):
    """A YAML file holds values that no model can be built with, or axes exchanged against the original's file."""

    code, symbol = "E7554", "config-values-impossible"
    message = "%(problem)s"
    advice = "Correct the value in the YAML file."
    why = (
        "The sizes of a configuration hang together: as many depths as head counts, heads that share the channels, "
        "rates below 1. A file that nobody has run yet fails on the cluster, when all ranks have started."
    )
    symptom = Symptom.CRASH
    runtime = (
        "ValueError: not enough values to unpack, or: embed_dim must be divisible by num_heads, on every rank"
    )
    limits = (
        "Values that the call of the stages reads directly from a file, and those of the other YAML files in its "
        "folder that have the same sections. Widths may grow by 2, 4 or 8 along the model."
    )
    guide = "Principle 8: scalars of the YAML file"
    scope = Scope.GUIDE

    bad = """
    import yaml
    from megatron.core import mpu
    from megatron.training import pretrain
    from torch import nn


    class Plover_stage0(nn.Module):
        def __init__(self, dim=96, num_heads=(4, 8), config=None, **kwargs):
            super().__init__()
            self.input_tensor = None


    class Plover_stage1(nn.Module):
        def __init__(self, dim=96, num_heads=(4, 8), config=None, **kwargs):
            super().__init__()
            self.input_tensor = None


    def model_provider(pre_process=False, post_process=True):
        with open("config.yaml") as file:  # 96 channels; heads [4, 8], more_heads [4, 7]
            cfg = yaml.safe_load(file)
        stages = {0: Plover_stage0, 1: Plover_stage1}
        stage = stages[mpu.get_pipeline_model_parallel_rank()]
        return stage(dim=cfg["dim"], num_heads=cfg["more_heads"])  # [config-values-impossible]


    pretrain(model_provider=model_provider)
    """
    good = bad.replace('cfg["more_heads"])  # [config-values-impossible]', 'cfg["heads"])')
    beside = {"config.yaml": "dim: 96\nheads: [4, 8]\nmore_heads: [4, 7]\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            if not script.drives_stages:
                continue
            for given, classes in _given(analysis.project, script):
                for file in dict.fromkeys(value.file for value in given):
                    yield from self._file(
                        analysis.project, script, [v for v in given if v.file == file], classes
                    )
        for twin in script_twins(analysis.project):
            yield from self._exchanged(analysis.project, twin)

    def _file(
        self, project: Project, script: TrainingScript, given: list[Value], classes: list[ClassFacts]
    ) -> Iterator[Finding]:
        taken = [parameters(project, cls) for cls in classes]
        width = next((v.value for v in given if v.name in WIDTHS and type(v.value) is int), None)
        for value in given:
            problem = _length(value, taken) or _rate(value)
            if value.name in HEAD_COUNTS and type(width) is int:
                problem = problem or _heads(value, width)
            if problem:
                yield self._finding(script, value, problem)

    def _exchanged(self, project: Project, twin: ScriptTwin) -> Iterator[Finding]:
        """Axes of the fields in another order than in the original's file of the same name."""
        theirs = _values(project, twin.first.where, twin.first.given)
        first = {(value.name, value.file.name): value for value in theirs}
        for value in _values(project, twin.mine.where, twin.mine.given):
            other = first.get((value.name, value.file.name))
            if other is None or other.file == value.file or not isinstance(value.value, list):
                continue
            if isinstance(other.value, list) and value.value != other.value:
                if sorted(map(str, value.value)) == sorted(map(str, other.value)):
                    problem = tr(
                        "`%(key)s` is %(value)s in `%(file)s`, and %(other)s in the file of the original",
                        key=value.key,
                        value=value.value,
                        file=display(value.file),
                        other=other.value,
                    )
                    yield self._finding(twin.script, value, problem)

    def _finding(self, script: TrainingScript, value: Value, problem: str) -> Finding:
        step = Evidence(display(value.file), _line(value), tr("`%(key)s` is set here", key=value.key))
        return self.finding(
            place_of(script.module, value.node), object=value.name, evidence=(step,), problem=problem
        )


def _given(project: Project, script: TrainingScript) -> Iterator[tuple[list[Value], list[ClassFacts]]]:
    """The values of each call that builds stages, with the classes that it builds."""
    calls: dict[int, tuple[ast.Call, Names, list[ClassFacts]]] = {}
    for node, scope, stage in stage_calls(script):
        calls.setdefault(id(node), (node, scope, []))[2].append(stage.cls)
    for node, scope, classes in calls.values():
        named = {word.arg: word.value for word in node.keywords if word.arg}
        yield list(_values(project, scope, named)), classes


def _values(project: Project, where: Names, given: Mapping[str, ast.expr]) -> Iterator[Value]:
    """What the file that the script reads, and those beside it, give for the arguments of a call."""
    configs = Configs(TrainingScript(project, where.module))
    for name, value in given.items():
        found = configs.source(value, where) if isinstance(value, ast.Attribute | ast.Subscript) else None
        if found is None or found[0].file is None or found[0].problem:
            continue
        home = found[0].file.path
        beside = sorted(
            part for part in project.files.names_in(home.parent) if part.endswith((".yaml", ".yml"))
        )
        for part in beside:
            file = project.knowledge(YamlFiles).read(home.parent / part)
            try:
                held = look_up(file.data, found[1]) if not file.problem else None
            except MissingKey:
                continue
            if held is not None:
                yield Value(name, value, file.path, str(found[1][-1]), held)


def _length(value: Value, taken: list[dict[str, ast.expr | None]]) -> str:
    """A list of another length than the default of every stage that takes it."""
    lengths = set()
    for names in taken:
        default = names.get(value.name)
        if not isinstance(default, ast.Tuple | ast.List):
            return ""
        lengths.add(len(default.elts))
    if not isinstance(value.value, list) or len(lengths) != 1 or len(value.value) in lengths:
        return ""
    return tr(
        "`%(key)s` of `%(file)s` has %(count)s values, and the stages take %(wanted)s",
        key=value.key,
        file=display(value.file),
        count=len(value.value),
        wanted=lengths.pop(),
    )


def _rate(value: Value) -> str:
    if not _RATE.match(value.name) or type(value.value) not in (int, float) or 0 <= value.value < 1:
        return ""
    return tr(
        "`%(key)s` of `%(file)s` is %(value)s, and a rate lies between 0 and 1",
        key=value.key,
        file=display(value.file),
        value=value.value,
    )


def _heads(value: Value, width: int) -> str:
    counts = value.value if isinstance(value.value, list) else [value.value]
    for count in counts:
        if type(count) is int and count > 0 and all(width * scale % count for scale in _SCALES):
            return tr(
                "%(count)s heads (`%(key)s` of `%(file)s`) cannot share %(width)s channels",
                count=count,
                key=value.key,
                file=display(value.file),
                width=width,
            )
    return ""


def _line(value: Value) -> int:
    """The line of the file that sets a key; the first where it is not seen."""
    try:
        lines = disk.read(value.file).decode().split("\n")
    except (OSError, ValueError):
        return 1
    sets = re.compile(rf"^\s*['\"]?{re.escape(value.key)}['\"]?\s*:")
    return next((number for number, line in enumerate(lines, 1) if sets.match(line)), 1)
