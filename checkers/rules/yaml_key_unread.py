"""W7540"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..files import disk
from ..files.discovery import display
from ..finding import Evidence, Finding
from ..language import tr
from ..project.config_reads import Configs
from ..project.scopes import Scope
from ..project.stage_calls import stage_calls
from ..project.stage_classes import parameters
from ..project.training import Training, TrainingScript
from ..project.yaml_config import MissingKey, look_up
from ..rule import Rule, Symptom
from ..rule import Scope as RuleScope
from ..tpstate.fixes import set_keyword, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class YamlKeyUnread(Rule):
    """The YAML file sets a parameter of the stages, and the call that builds them leaves it at its default."""

    code, symbol = "W7540", "yaml-key-unread"
    message = (
        "%(file)s sets `%(key)s`, but `%(call)s` does not give it: `%(cls)s` takes its default, %(default)s"
    )
    advice = "Hand it on: `%(typed)s`."
    why = "The file is where a run is described. A value that nothing reads looks as if it had been used."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the model is built with the default, whatever the file says"
    limits = (
        "Keys of the sections that the same call reads, of the same name as a parameter with a default, which the "
        "script names nowhere else. Silent where the file cannot be read or the call unpacks a dict."
    )
    guide = "Principle 8: scalars of the YAML go to the stage one by one"
    scope = RuleScope.GUIDE
    fix_kind = "unsafe"
    fix_note = "The model changes: it is built with the value of the file from then on."

    bad = """
    from megatron.core import mpu
    from torch import nn
    from onescience.utils.fcn.YParams import YParams


    class Net_stage0(nn.Module):
        def __init__(self, width=96, depth=2, config=None, **kwargs):
            super().__init__()
            self.input_tensor = None

        def forward(self, x):
            return x


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=True, post_process=True):
        cfg = YParams("model.yaml", "model")
        stages = {0: Net_stage0, 1: Net_stage1}
        return stages[mpu.get_pipeline_model_parallel_rank()](width=cfg.width)  # [yaml-key-unread]


    def forward_step(data_iterator, model):
        return model(None), None
    """
    good = """
    from megatron.core import mpu
    from torch import nn
    from onescience.utils.fcn.YParams import YParams


    class Net_stage0(nn.Module):
        def __init__(self, width=96, depth=2, config=None, **kwargs):
            super().__init__()
            self.input_tensor = None

        def forward(self, x):
            return x


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=True, post_process=True):
        cfg = YParams("model.yaml", "model")
        stages = {0: Net_stage0, 1: Net_stage1}
        return stages[mpu.get_pipeline_model_parallel_rank()](width=cfg.width, depth=cfg.depth)


    def forward_step(data_iterator, model):
        return model(None), None
    """
    beside = {"model.yaml": "model:\n  width: 192\n  depth: 6\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            configs = Configs(script)
            seen: set[tuple[int, str]] = set()
            for call, scope, stage in stage_calls(script):
                found = analysis.project.method(stage.cls, "__init__")
                spread = any(keyword.arg is None for keyword in call.keywords)
                if found is None or spread or any(isinstance(arg, ast.Starred) for arg in call.args):
                    continue
                takes = parameters(found[1])
                given = {keyword.arg for keyword in call.keywords} | set(list(takes)[: len(call.args)])
                for read, value, path in _sections(configs, call, scope):
                    for name, default in takes.items():
                        mark = (id(call), name)
                        if name in given or default is None or name not in value or mark in seen:
                            continue
                        if _is_named(script, name) or _same(default, value[name]):
                            continue
                        seen.add(mark)
                        yield self.finding(
                            place_of(script.module, call),
                            object=stage.cls.name,
                            fix=unsafe(set_keyword(script.module, call, name, f"{read}.{name}")),
                            evidence=(
                                Evidence(
                                    display(path), _line(path, name), tr("`%(name)s` is set here", name=name)
                                ),
                            ),
                            file=display(path),
                            key=name,
                            call=ast.unparse(call.func),
                            cls=stage.cls.name,
                            default=f"`{ast.unparse(default)}`",
                            typed=f"{name}={read}.{name}",
                        )


def _sections(
    configs: Configs, call: ast.Call, scope: Scope
) -> Iterator[tuple[str, Mapping[str, object], Path]]:
    """The sections that the arguments of a call are read from: how the script names them, and what they hold."""
    seen = set()
    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
        found = configs.source(value, scope) if isinstance(value, ast.Attribute) else None
        if found is None or found[0].file is None or found[0].problem or not isinstance(value, ast.Attribute):
            continue
        try:
            section = look_up(found[0].file.data, found[1][:-1])
        except MissingKey:
            continue
        text = ast.unparse(value.value)
        if isinstance(section, Mapping) and text not in seen:
            seen.add(text)
            yield text, section, found[0].file.path


def _is_named(script: TrainingScript, name: str) -> bool:
    """Whether a script reads an attribute or key of a name anywhere, or asks a function for it."""
    keys = [
        key
        for node in walk(script.module.tree)
        for key in (
            [node.slice]
            if isinstance(node, ast.Subscript)
            else node.args
            if isinstance(node, ast.Call)
            else []
        )
    ]
    return any(isinstance(key, ast.Constant) and key.value == name for key in keys) or any(
        isinstance(node, ast.Attribute) and node.attr == name for node in walk(script.module.tree)
    )


def _same(default: ast.expr, value: object) -> bool:
    try:
        plain = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError):
        return False
    return (list(plain) if isinstance(plain, tuple) else plain) == value


def _line(path: Path, name: str) -> int:
    """The line of a YAML file that sets a key; 1 where it cannot be found."""
    try:
        lines = disk.read(path).decode().split("\n")
    except (OSError, ValueError):
        return 1
    return next((i for i, line in enumerate(lines, 1) if re.match(rf"\s*{re.escape(name)}\s*:", line)), 1)
