"""Stages named one by one, in place of a training script that builds them."""

from __future__ import annotations

import importlib
import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING

from torch import nn

from ..errors import UserError

if TYPE_CHECKING:
    from .script import Script, Workplace

_GIVEN_BY_US = ("self", "config", "pre_process", "post_process")


def script_of(workplace: Workplace) -> Script:
    """What a training script of these stages would hand over: each is built from --set, else its own defaults."""
    from megatron.core import parallel_state

    from .. import flags  # here and not before: the user's tree may hold this very module
    from .script import Script

    plan = workplace.plan
    classes = [_class(reference) for reference in plan.stages]
    args = flags.parse_args(argv=workplace.flags())
    args.pipeline_tensor_shape_config = SimpleNamespace(num_stages=len(classes), stage_shapes=[])
    config = flags.core_transformer_config_from_args(args)
    values = _values(classes)
    workplace.files.change(values)
    workplace.files.read.append(values)

    def provider(pre_process: bool, post_process: bool) -> nn.Module:
        cls = classes[parallel_state.get_pipeline_model_parallel_rank()]
        ours = {"config": config, "pre_process": pre_process, "post_process": post_process}
        taken = inspect.signature(cls.__init__).parameters
        return cls(**{name: value for name, value in ({**values, **ours}).items() if name in taken})

    return Script({"model_provider": provider, "stages": classes}, args, flags)


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
            if name in _GIVEN_BY_US or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            default = None if parameter.default is parameter.empty else parameter.default
            values.setdefault(name, list(default) if isinstance(default, tuple) else default)
    return values
