"""E7204"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.config_reads import ConfigLoad, Configs
from ..project.project import dotted_name
from ..project.stage_calls import stage_calls
from ..project.stage_classes import is_declared
from ..project.stage_maps import StageMap
from ..project.stages import Stage, Stages
from ..project.training import Training, TrainingScript
from ..project.yaml_config import MissingKey, look_up
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NAMES = re.compile(r"^(yaml\w*|\w*_yaml|cfg\w*|\w+_cfg|yparams|hparams|opt)$")
_TYPES = re.compile(r"\b(YParams|DictConfig|OmegaConf|EasyDict|Namespace|Munch)\b")
_LOADERS = re.compile(
    r"(^|\.)(YParams|safe_load|full_load|unsafe_load|OmegaConf\.load|load_yaml|load_config)$"
)
_LOADED = re.compile(r"YParams|_load\b|OmegaConf|load_yaml|load_config")
_EACH = tr("the values that it needs one by one")
_MODEL_KEYS = frozenset(
    "img_size patch_size embed_dim window_size in_chans out_chans depth depths mask mask_full mlp_ratio".split()
)


class StageTakesYamlConfig(Rule):
    """A stage takes the whole YAML configuration instead of scalars."""

    code, symbol = "E7204", "stage-takes-yaml-config"
    message = "`%(cls)s.__init__` takes the whole YAML configuration as `%(name)s`"
    advice = "Take %(scalars)s, and Megatron's config as `config`."
    why = (
        "The stages share one signature with the original model. A configuration object hides what it needs, breaks "
        "saving of the constructor's arguments, and is easily mistaken for Megatron's config."
    )
    symptom = Symptom.CRASH
    runtime = "AttributeError: the YAML object has no attribute of Megatron's config, or the other way round"
    limits = "A parameter counts when its name, annotation or use says that it is a YAML object."
    guide = "Principle 8: parameters of stage classes"
    scope = Scope.GUIDE

    bad = """
    from onescience.modules.module import Module


    class Net_stage0(Module):
        def __init__(self, yaml_cfg, config=None, **kwargs):  # [stage-takes-yaml-config]
            super().__init__()
            self.input_tensor = None
            self.grid = yaml_cfg.img_size
    """
    good = """
    from onescience.modules.module import Module


    class Net_stage0(Module):
        def __init__(self, img_size, config=None, **kwargs):
            super().__init__()
            self.input_tensor = None
            self.grid = img_size
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        stages = analysis.project.knowledge(Stages)
        for stage in stages:
            if is_declared(stage):
                yield from self._parameters(stage)
        given = [finding for found in stages.maps for finding in self._calls(found)]
        for script in analysis.project.knowledge(Training):
            given += self._handed(script)
        yield from {finding.place: finding for finding in given}.values()

    def _handed(self, script: TrainingScript) -> Iterator[Finding]:
        """A whole configuration among the arguments of the call that builds a script's stages."""
        configs = Configs(script)
        for call, scope, stage in stage_calls(script):
            for value in (*call.args, *(keyword.value for keyword in call.keywords)):
                found = configs.source(value, scope) if isinstance(value, ast.Name | ast.Attribute) else None
                if found is not None and (found[1] == found[0].keys or _is_section(*found)):
                    yield self._given(script.module, value, stage.cls.name)

    def _parameters(self, stage: Stage) -> Iterator[Finding]:
        init = stage.cls.methods.get("__init__")
        if init is None:
            return
        attributes, keys = _reads(init)
        for arg in (*init.args.args[1:], *init.args.kwonlyargs):
            read, keyed = attributes.get(arg.arg, set()), arg.arg in keys
            typed = arg.annotation is not None and _TYPES.search(ast.unparse(arg.annotation))
            named = _NAMES.match(arg.arg) and (read or keyed or arg.arg.startswith("yaml"))
            used = arg.arg in ("config", "params", "args") and bool(read & _MODEL_KEYS)
            if typed or named or used:
                yield self.finding(
                    place_of(stage.cls.module, arg),
                    object=stage.cls.name,
                    cls=stage.cls.name,
                    name=arg.arg,
                    scalars=tr("what it reads one by one (`%(names)s`)", names=", ".join(sorted(read)))
                    if read
                    else _EACH,
                )

    def _calls(self, found: StageMap) -> Iterator[Finding]:
        """A call of a mapped class that is given an object loaded from YAML."""
        if not found.module.says(_LOADED):
            return
        loaded: set[str] = set()
        holders = {cls.name for cls in found.entries.values() if cls is not None}
        for node in walk(found.module.tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if isinstance(node.value, ast.Call) and _LOADERS.search(dotted_name(node.value.func) or ""):
                    loaded.add(node.targets[0].id)
                if node.value is found.node or _picks(node.value) in holders:
                    holders.add(node.targets[0].id)
        for node in walk(found.module.tree):
            if not isinstance(node, ast.Call) or not loaded:
                continue
            func = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if isinstance(func, ast.Name) and func.id in holders:
                for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(value, ast.Name) and value.id in loaded:
                        yield self._given(found.module, value, func.id)

    def _given(self, module: ModuleFacts, value: ast.expr, stage: str) -> Finding:
        return self.finding(
            place_of(module, value),
            object=stage,
            message="a stage is given the whole YAML configuration `%(name)s`",
            name=ast.unparse(value),
            scalars=_EACH,
        )


def _reads(init: ast.FunctionDef) -> tuple[dict[str, set[str]], set[str]]:
    """What is read as an attribute of each variable, and the variables that are indexed by a text."""
    attributes: dict[str, set[str]] = {}
    keys: set[str] = set()
    for node in walk(init):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                keys.add(node.value.id)
    return attributes, keys


def _picks(value: ast.expr) -> str:
    """The table that `table[rank]` or `table.get(rank)` reads."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get":
        return dotted_name(value.func.value) or ""
    return (dotted_name(value.value) or "") if isinstance(value, ast.Subscript) else ""


def _is_section(load: ConfigLoad, keys: tuple[str, ...]) -> bool:
    """Whether what is read of a file has keys of its own: `cfg.model`."""
    if load.file is None or load.problem:
        return False
    try:
        return isinstance(look_up(load.file.data, keys), Mapping)
    except MissingKey:
        return False
