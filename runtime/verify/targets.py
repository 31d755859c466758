"""Stages named one by one, in place of a training script that builds them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from torch import nn

from ..errors import UserError

if TYPE_CHECKING:
    from .script import Script, Workplace

_GIVEN_BY_US = ("self", "pre_process", "post_process")
_SEQUENCE = "--sequence-parallel"  # the runtime of this project has no such models, and no such flag


def script_of(workplace: Workplace) -> Script:
    """What a training script of these stages would hand over: each is built from --set, else its own defaults."""
    from megatron.core import parallel_state

    from .. import flags  # here and not before: the user's tree may hold this very module
    from .script import Script

    plan = workplace.plan
    classes = [_class(reference) for reference in plan.stages]
    args = flags.parse_args(argv=[flag for flag in workplace.flags() if flag != _SEQUENCE])
    args.sequence_parallel = _SEQUENCE in plan.script_args
    args.pipeline_tensor_shape_config = SimpleNamespace(num_stages=len(classes), stage_shapes=[])
    values = _values(classes)
    workplace.files.change(values)
    workplace.files.read.append(values)

    def provider(pre_process: bool, post_process: bool) -> nn.Module:
        cls = classes[parallel_state.get_pipeline_model_parallel_rank()]
        config = flags.core_transformer_config_from_args(args)
        config.sequence_parallel = args.sequence_parallel
        taken = inspect.signature(cls.__init__).parameters
        ours = {name: config for name in taken if _is_config(name)}
        ours |= {"pre_process": pre_process, "post_process": post_process}
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
            ours |= {} if any(_is_config(name) for name in taken) else {"config": config}
            ours |= {name: value for name, value in plan.overrides.items() if name not in taken}
        given = {name: value for name, value in values.items() if name in taken} | {
            name: value
            for name, value in ours.items()
            if name in taken or name in ("config", *plan.overrides)
        }
        _nothing_missing(cls, taken, given)
        return cls(**given)

    return Script({"model_provider": provider, "stages": classes}, args, flags)


def _nothing_missing(cls: type, taken: Mapping[str, inspect.Parameter], given: Mapping[str, object]) -> None:
    """Raise UserError where a constructor needs what nobody has given."""
    needed = [
        name
        for name, parameter in taken.items()
        if parameter.default is parameter.empty
        and name != "self"
        and given.get(name) is None
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        words = " ".join(f"--set {name}=…" for name in needed)
        raise UserError(f"{cls.__name__} needs {', '.join(needed)}: give {words}")


def _is_config(name: str) -> bool:
    """Whether a parameter of a constructor takes Megatron's TransformerConfig."""
    return name == "config" or name.endswith("_config")


def _class(reference: str) -> type[nn.Module]:
    module, _, name = reference.partition(":")
    cls = getattr(importlib.import_module(module), name, None)
    if cls is None:
        raise UserError(f"{module} has no class {name}")
    return cls


def _values(classes: list[type[nn.Module]]) -> dict[str, object]:
    """What the constructors take, with their defaults; tuples as YAML would give them."""
    values: dict[str, object] = {}
    for cls in classes:
        for name, parameter in inspect.signature(cls.__init__).parameters.items():
            if (
                name in _GIVEN_BY_US
                or _is_config(name)
                or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            ):
                continue
            default = None if parameter.default is parameter.empty else parameter.default
            values.setdefault(name, list(default) if isinstance(default, tuple) else default)
    return values
