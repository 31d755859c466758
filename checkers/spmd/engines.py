"""Objects and functions of training libraries that all ranks must enter together: engines, schedules, checkpoints."""

from __future__ import annotations

import ast
import re

from ..project.project import dotted_name
from ..project.scopes import Opaque
from .axes import group_axes, last_name
from .frames import Attributes, Frame
from .names import WORLD, Axes

_ENGINE = frozenset(
    "train_batch eval_batch backward save_checkpoint load_checkpoint save_16bit_model".split()
)
"""Methods of DeepSpeed's engines that hold collectives over all ranks."""
_STAGE_TESTS = frozenset(("is_first_stage", "is_last_stage"))
_SCHEDULE = "torch.distributed.pipelining"
_STATE = "torch.distributed.checkpoint"
_FUNCTIONS = {
    _STATE: frozenset("save load async_save save_state_dict load_state_dict".split()),
    f"{_STATE}.state_dict": frozenset(
        "get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict "
        "set_optimizer_state_dict set_state_dict".split()
    ),
    "megatron.core.dist_checkpointing": frozenset("save load".split()),
}
_SHARDS = re.compile(r"fully_shard\(|FullyShardedDataParallel|parallelize_module\(")
_NAMES = _ENGINE | {"step"} | {name for found in _FUNCTIONS.values() for name in found}


def entered_together(node: ast.Call, frame: Frame) -> Axes | None:
    """The ranks that must all make a call; None where it is no such call, or its group is unknown."""
    name = last_name(node.func)
    if name not in _NAMES:
        return None
    if _is_function(node, name, frame):
        return WORLD
    if not isinstance(node.func, ast.Attribute):
        return None
    if name == "step":
        return _schedule(node.func.value, frame)
    return WORLD if name in _ENGINE and is_engine(node.func.value, frame) else None


def is_engine(node: ast.expr, frame: Frame) -> bool:
    """Whether a name holds what `deepspeed.initialize` gives first."""
    made = _made(node, frame)
    return made is not None and frame.external(made.func) == "deepspeed.initialize"


def stage_test(node: ast.Call, frame: Frame) -> str:
    """`is_first_stage` or `is_last_stage` where a DeepSpeed engine is asked, else an empty text."""
    name = last_name(node.func)
    is_asked = name in _STAGE_TESTS and isinstance(node.func, ast.Attribute)
    return name if is_asked and is_engine(node.func.value, frame) else ""  # type: ignore[attr-defined]


def _is_function(node: ast.Call, name: str, frame: Frame) -> bool:
    dotted = frame.external(node.func)
    package = dotted.rpartition(".")[0]
    if name not in _FUNCTIONS.get(package, ()):
        return False
    told = {keyword.arg for keyword in node.keywords}
    if package.endswith("state_dict"):  # of a plain model they give what the rank has
        return _SHARDS.search(frame.module.text) is not None
    return not told & {"process_group", "no_dist", None}


def _schedule(node: ast.expr, frame: Frame) -> Axes | None:
    """The group of the pipeline whose schedule steps."""
    made = _made(node, frame)
    if made is None or not _of_pipelining(made.func, frame, "Schedule"):
        return None
    stage = made.args[0] if made.args else frame.argument(made, "stage", 0)
    if isinstance(stage, ast.Name | ast.Attribute):
        stage = _made(stage, frame)
    if not isinstance(stage, ast.Call) or not _of_pipelining(stage.func, frame, "PipelineStage"):
        return None
    group = frame.argument(stage, "group", 6)
    return group_axes(group, frame)


def _of_pipelining(func: ast.expr, frame: Frame, start: str) -> bool:
    return frame.external(func).startswith(_SCHEDULE) and last_name(func).startswith(start)


def _made(node: ast.expr, frame: Frame) -> ast.Call | None:
    """The one call that a name or `self.x` is given, or the first item of."""
    name = dotted_name(node)
    if name is None:
        return None
    if name.startswith("self.") and frame.cls is not None:
        held = frame.project.knowledge(Attributes).of(frame.cls).get(name[5:], [])
        values = [value for value, _ in held]
    else:
        owner = frame.scope.owner_of(name)
        values = owner.bound.get(name, []) if owner is not None else []
        given = frame.given.get(name) if owner is frame.scope and not values else None
        if given is not None:
            return _made(*given) if isinstance(given[0], ast.Name | ast.Attribute) else None
    if len(values) != 1:
        return None
    value = values[0]
    if isinstance(value, Opaque):
        value = value.source if value.index == 0 else value
    return value if isinstance(value, ast.Call) else None
