"""A training script by the guide, run up to its `pretrain` call; and what it hands over."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ..errors import UserError
from ..process_groups import pipeline_rank, seed_random_streams
from . import targets, tree
from .masks import MaskFiles
from .overrides import ConfigFiles
from .plan import Plan
from .tracking import Tracker, show_from

_ORDER = ("train_valid_test_dataset_provider", "model_provider", "model_type", "forward_step_func")


class _Reached(BaseException):
    """The script called `pretrain`."""


@dataclass
class Script:
    """What the script gave to `pretrain`, and the flags as parsed."""

    given: dict
    args: object
    arguments_module: object

    @property
    def shapes(self):
        """The PipelineTensorShapeConfig that the provider set, or None."""
        return getattr(self.args, "pipeline_tensor_shape_config", None)

    @property
    def num_stages(self) -> int | None:
        """How many stages the shapes speak of."""
        return None if self.shapes is None else self.shapes.num_stages

    def config(self):
        """Megatron's TransformerConfig of these flags."""
        return self.arguments_module.core_transformer_config_from_args(self.args)


@dataclass
class Workplace:
    """This process, made ready for the user's code."""

    plan: Plan
    tracker: Tracker
    files: ConfigFiles
    masks: MaskFiles

    @classmethod
    def prepare(cls, plan: Plan, overrides: dict[str, object] | None = None) -> Workplace:
        """Imports, configuration files, and watching; the devices come from `device`."""
        files = ConfigFiles(plan.overrides if overrides is None else overrides)
        workplace = cls(plan, Tracker(plan), files, MaskFiles(files))
        show_from(Path.cwd())
        os.chdir(Path(plan.script).parent)
        tree.install(plan)
        workplace.files.install()
        workplace.masks.install()
        workplace.tracker.install()
        return workplace

    def run_script(self) -> Script:
        """Run the script as ``python script flags`` would, up to its `pretrain` call.

        Raises:
            UserError: it never calls `pretrain`, or does not take the flags.
        """
        if self.plan.stages:
            return targets.script_of(self)
        path = Path(self.plan.script)
        given: dict = {}

        def pretrain(*args, **kwargs):
            given.update(dict(zip(_ORDER, args, strict=False)) | kwargs)
            raise _Reached

        home = self._replace_pretrain(path, pretrain)
        sys.argv = [str(path), *self.flags()]
        try:
            runpy.run_path(str(path), run_name="__main__")
        except _Reached:
            pass
        except SystemExit as error:
            raise UserError(f"{path.name} ended with {error.code!r} before it called pretrain") from error
        if not given:
            raise UserError(f"{path.name} never calls pretrain(...): is it the training script?")
        module = importlib.import_module(f"{home}.arguments")
        args = self._parse(module, given)
        return Script(given, args, module)

    def _replace_pretrain(self, path: Path, stand_in: Callable) -> str:
        """Put `stand_in` in place of the `pretrain` that the script imports. The package it comes from."""
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                if any(alias.name == "pretrain" for alias in node.names):
                    importlib.import_module(node.module).pretrain = stand_in
                    return node.module.removesuffix(".training.training") + (
                        ".training" if node.module.endswith(".training.training") else ""
                    )
            if isinstance(node, ast.Import):
                for alias in node.names:
                    module = importlib.import_module(alias.name) if "training" in alias.name else None
                    if hasattr(module, "pretrain"):
                        module.pretrain = stand_in
                        return alias.name
        raise UserError(f"{path.name} imports no pretrain: is it the training script?")

    def flags(self) -> list[str]:
        """The flags that the script is given."""
        plan = self.plan
        sizes = ["--tensor-model-parallel-size", plan.tp, "--pipeline-model-parallel-size", plan.pp]
        return [*map(str, sizes), *plan.script_args]

    def _parse(self, module, given: dict):
        names = ("args_defaults", "extra_args_provider")
        options = {name: given[name] for name in names if given.get(name) is not None}
        accepted = inspect.signature(module.parse_args).parameters
        if "argv" in accepted:
            return module.parse_args(**options, argv=self.flags())
        args = module.parse_args(options.get("extra_args_provider"), True)
        for name, value in (options.get("args_defaults") or {}).items():
            if getattr(args, name, None) is None:
                setattr(args, name, value)
        importlib.import_module(f"{module.__package__}.global_vars").set_args(args)
        return args


def build_stage(script: Script, number: int, num_stages: int) -> nn.Module:
    """Stage `number`, as Megatron builds it on that pipeline rank."""
    seed_random_streams(getattr(script.args, "seed", 1234) + 100 * number)
    with pipeline_rank(number, num_stages):
        provider = script.given["model_provider"]
        stage = provider(pre_process=number == 0, post_process=number == num_stages - 1)
    if not isinstance(stage, nn.Module):
        raise TypeError(f"model_provider returned {type(stage).__name__} for stage {number}, not a module")
    if not hasattr(stage, "vp_stage"):
        stage.vp_stage = None
    return stage


def build_original(workplace: Workplace, stage: nn.Module) -> nn.Module | None:
    """The plain model, given what the configuration says, else what the stage was given, else its own defaults."""
    reference = workplace.plan.original
    if not reference:
        return None
    module, _, name = reference.partition(":")
    cls = getattr(importlib.import_module(module), name)
    passed = workplace.tracker.arguments.get(id(stage), {})
    arguments = {}
    for key, parameter in inspect.signature(cls.__init__).parameters.items():
        if key == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        read = workplace.files.values(key)
        if len(read) == 1 and "config" not in key:
            arguments[key] = read[0]
        elif key in passed and "config" not in key:
            arguments[key] = passed[key]
    return cls(**arguments)


def call_step(
    script: Script, stage: nn.Module, number: int, num_stages: int, data: Iterator, x: torch.Tensor | None
) -> tuple[object, Callable | None, str]:
    """One micro-batch through a stage by the script's own `forward_step_func`.

    Returns:
        What the stage returned, the loss function, and why the script's function could not be used ("" if it was).
    """
    step = script.given.get("forward_step_func")
    with pipeline_rank(number, num_stages):
        problem = "" if "stages" in script.given else "the script hands over no forward_step_func"
        if step is not None:
            try:
                output, loss_func = step(data, stage)
                return output, loss_func, ""
            except (FileNotFoundError, tree.MissingModuleError) as error:
                problem = f"forward_step_func needs what is not here ({error})"
            except ValueError as error:
                if "values to unpack" not in str(error) or _ran_stage(error, stage):
                    raise
                problem = f"forward_step_func takes batches of another form than (input, label): {error}"
        return stage(x) if number == 0 else _call_later(stage), None, problem


def _ran_stage(error: BaseException, stage: nn.Module) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_locals.get("self") is stage:
            return True
        trace = trace.tb_next
    return False


def _call_later(stage: nn.Module):
    """A later stage takes its input from `set_input_tensor`; what its forward is given does not matter."""
    needed = [
        parameter
        for parameter in inspect.signature(stage.forward).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    return stage(*[None for _ in needed])
