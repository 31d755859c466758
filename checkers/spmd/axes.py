"""Along which mesh axes an expression, a group or a condition varies."""

from __future__ import annotations

import ast
import re

from ..project.project import FunctionRef, dotted_name
from . import names
from .frames import Frame, kept, returns
from .names import NONE, PP, WORLD, Axes, lookup
from .objects import entered_by
from .options import asked as own_property

MAX_DEPTH = 6
_ENVIRONMENT = re.compile(r"^(LOCAL_)?RANK$")
_PASSED_ON = frozenset("int bool str abs float format".split())


def last_name(node: ast.expr) -> str:
    """The last part of a called name: `mpu.get_rank` gives `get_rank`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@kept
def varies(node: ast.expr, frame: Frame, depth: int) -> Axes | None:
    """The axes of ranks along which a number differs; None where that cannot be told."""
    if isinstance(node, ast.Constant):
        return NONE
    if isinstance(node, ast.BinOp):
        return _joined([node.left, node.right], frame, depth)
    if isinstance(node, ast.UnaryOp):
        return varies(node.operand, frame, depth)
    if isinstance(node, ast.IfExp):
        return _joined([node.body, node.orelse], frame, depth)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return _joined(parts, frame, depth)
    if isinstance(node, ast.Subscript):
        key = node.slice
        is_rank = (
            isinstance(key, ast.Constant) and isinstance(key.value, str) and _ENVIRONMENT.match(key.value)
        )
        return WORLD if is_rank and (dotted_name(node.value) or "").endswith("environ") else None
    if isinstance(node, ast.Call):
        return _call(node, frame, depth)
    if isinstance(node, ast.Name | ast.Attribute):
        return _name(node, frame, depth)
    return None


def _joined(parts: list[ast.expr], frame: Frame, depth: int) -> Axes | None:
    found = [varies(part, frame, depth) for part in parts]
    known = [axes for axes in found if axes is not None]
    return NONE.union(*known) if len(known) == len(found) or any(known) else None


def _name(node: ast.Name | ast.Attribute, frame: Frame, depth: int) -> Axes | None:
    name = last_name(node)
    if isinstance(node, ast.Attribute):
        if name in ("rank_in_group", "rank") and (axes := group_axes(node.value, frame)) is not None:
            return axes if name == "rank_in_group" else WORLD  # `rank` counts over all processes
        if name in ("world_size", "is_first_rank", "is_last_rank"):
            return NONE if name == "world_size" else group_axes(node.value, frame)
        if dotted_name(node) in ("args.rank", "args.local_rank"):
            return WORLD
    if depth >= MAX_DEPTH:
        return None
    asked = own_property(frame, node)
    if asked is not None:
        return _joined(returns(asked), asked, depth + 1) if returns(asked) else None
    found = [varies(value, where, depth + 1) for value, where in frame.definitions(node)]
    known = [axes for axes in found if axes is not None]
    return NONE.union(*known) if found and len(known) == len(found) else None


def _call(node: ast.Call, frame: Frame, depth: int) -> Axes | None:
    name = frame.called(node.func)
    known = rank_function(node, frame)
    if known is not None:
        return known
    if lookup(names.SIZE, name) is not None or name in ("get_world_size", "device_count", "len"):
        return NONE
    if name in _PASSED_ON or (name == "join" and dotted_name(node.func) not in (None, "join")):
        return _joined([*node.args], frame, depth) if node.args else None
    if name in ("get", "getenv") and node.args and isinstance(node.args[0], ast.Constant):
        return WORLD if _ENVIRONMENT.match(str(node.args[0].value)) else None
    inner = entered_by(node, frame) if depth < MAX_DEPTH else None
    if inner is None:
        return None
    values = returns(inner)
    return _joined(values, inner, depth + 1) if values else None


def rank_function(node: ast.Call, frame: Frame) -> Axes | None:
    """The axes of a call that asks a library for a rank."""
    name = frame.called(node.func)
    if name in names.FIRST_STAGE | names.LAST_STAGE:
        return PP
    if name in names.MAIN_RANK:
        return WORLD
    if name in ("get_rank", "get_pg_rank"):
        group = frame.argument(node, "group", 0)
        if isinstance(node.func, ast.Attribute) and group is None and name == "get_rank":
            if _is_distributed(node.func.value, frame):
                return WORLD
            return group_axes(node.func.value, frame)
        if group is None or (isinstance(group, ast.Constant) and group.value is None):
            return WORLD if _is_library(node, frame) else None
        return group_axes(group, frame)
    if name == "rank" and isinstance(node.func, ast.Attribute) and not node.args:
        return group_axes(node.func.value, frame)
    if name == "get_local_rank" and isinstance(node.func, ast.Attribute):
        return mesh_axes(node.func.value, frame, node.args)
    found = lookup(names.RANK, name)
    if found == names.DP and _asks_context(node, frame):
        return names.DP | names.CP
    if found == names.MODEL and not _has_stages(node, frame):
        return names.TP
    return found


def _is_distributed(node: ast.expr, frame: Frame) -> bool:
    return frame.external(node) in ("torch.distributed", "deepspeed.comm") or dotted_name(node) in (
        "torch.distributed",
        "dist",
    )


def _is_library(node: ast.Call, frame: Frame) -> bool:
    ref = frame.ref(node.func)
    return isinstance(ref, FunctionRef) or frame.external(node.func).startswith(
        ("torch.distributed", "deepspeed")
    )


def _has_stages(node: ast.Call, frame: Frame) -> bool:
    """Whether a model-parallel group spans stages: that of the oldest libraries is the tensor-parallel one."""
    ref = frame.ref(node.func)
    if isinstance(ref, FunctionRef):
        return "pipeline_model_parallel" in ref.module.text
    return "megatron.core" in frame.external(node.func)


def group_axes(node: ast.expr | None, frame: Frame, depth: int = 0) -> Axes | None:
    """The axes that a process group spans; None where that cannot be told. No group at all is the world."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return WORLD
    if isinstance(node, ast.Call):
        name = frame.called(node.func)
        if name == "get_group" and isinstance(node.func, ast.Attribute):
            return mesh_axes(node.func.value, frame, node.args)
        found = lookup(names.GROUP, name)
        if found == names.MODEL and not _has_stages(node, frame):
            return names.TP
        if found == names.DP and _asks_context(node, frame):
            return names.DP | names.CP
        if found is not None:
            return found
        inner = entered_by(node, frame) if depth < MAX_DEPTH else None
        values = returns(inner) if inner is not None else []
        axes = {group_axes(value, inner, depth + 1) for value in values} if inner is not None else set()
        return axes.pop() if len(axes) == 1 else None
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    if isinstance(node, ast.Attribute):
        if node.attr in ("device_group", "cpu_group"):
            return group_axes(node.value, frame, depth)
        if "pg_collection" in (dotted_name(node.value) or "") and node.attr in names.COLLECTION:
            return names.COLLECTION[node.attr]
        if frame.external(node).endswith("distributed.group.WORLD"):
            return WORLD
    if depth < MAX_DEPTH:
        found_axes = {group_axes(value, where, depth + 1) for value, where in frame.definitions(node)}
        found_axes.discard(None)
        if len(found_axes) > 1 and WORLD in found_axes:
            found_axes.discard(WORLD)  # `group = None`, and what is filled in later
        if len(found_axes) == 1:
            only = found_axes.pop()
            return only if only != WORLD or not _is_parameter(node, frame) else None
        if found_axes:
            return None
    return names.GROUP_NAME.get(last_name(node).lstrip("_"))


def mesh_axes(node: ast.expr, frame: Frame, given: list[ast.expr], depth: int = 0) -> Axes | None:
    """The axis of `mesh["tp"]`, or of a mesh that is asked for the one named `given`; None for any other."""
    if given:
        return _named_axis(given[0], frame)
    if isinstance(node, ast.Subscript):
        return _named_axis(node.slice, frame) if last_name(node.value).endswith("mesh") else None
    if isinstance(node, ast.Name | ast.Attribute) and depth < MAX_DEPTH:
        found = {mesh_axes(value, where, [], depth + 1) for value, where in frame.definitions(node)}
        return found.pop() if len(found) == 1 else None
    return None


def _named_axis(node: ast.expr, frame: Frame) -> Axes | None:
    """The axis that a name of a mesh's dimension means, also where a caller gives it."""
    if isinstance(node, ast.Name):
        held = frame.definitions(node)
        node = held[0][0] if len(held) == 1 else node
    named = node.value if isinstance(node, ast.Constant) else None
    return names.MESH.get(named) if isinstance(named, str) else None


def _is_parameter(node: ast.expr, frame: Frame) -> bool:
    return isinstance(node, ast.Name) and node.id in frame.scope.parameters and node.id not in frame.given


def _asks_context(node: ast.Call, frame: Frame) -> bool:
    given = frame.argument(node, "with_context_parallel", 0)
    return given is not None and not (isinstance(given, ast.Constant) and not given.value)


def size_axes(node: ast.expr, frame: Frame, depth: int = 0) -> Axes | None:
    """The group whose size a number is: `get_data_parallel_world_size()` gives dp."""
    if isinstance(node, ast.Call):
        name = frame.called(node.func)
        found = lookup(names.SIZE, name)
        if name == "get_world_size":
            group = frame.argument(node, "group", 0)
            return group_axes(group, frame) if group is not None or _is_library(node, frame) else None
        if found == names.DP and _asks_context(node, frame):
            return names.DP | names.CP
        if found is not None:
            return None if found == names.MODEL and not _has_stages(node, frame) else found
        if name == "size" and isinstance(node.func, ast.Attribute) and not node.args:
            is_mesh = last_name(node.func.value).endswith("mesh")  # no group: None is no mesh of all ranks
            axes = mesh_axes(node.func.value, frame, [])
            return axes if is_mesh or axes is not None else group_axes(node.func.value, frame)
        inner = entered_by(node, frame) if depth < MAX_DEPTH else None
        values = returns(inner) if inner is not None else []
        return size_axes(values[0], inner, depth + 1) if inner is not None and len(values) == 1 else None
    if isinstance(node, ast.Name | ast.Attribute) and depth < MAX_DEPTH:
        if isinstance(node, ast.Attribute) and node.attr == "world_size":
            return group_axes(node.value, frame)
        found_axes = {size_axes(value, where, depth + 1) for value, where in frame.definitions(node)}
        return found_axes.pop() if len(found_axes) == 1 else None
    return None


def source_axes(node: ast.expr, frame: Frame, depth: int = 0) -> Axes | None:
    """The axes of the group whose first (or last) member a global rank is."""
    if isinstance(node, ast.Call):
        if frame.called(node.func) == "get_global_rank" and node.args:
            return group_axes(node.args[0], frame)
        found = lookup(names.SOURCE, frame.called(node.func))
        if found is not None:
            return names.TP if found == names.MODEL and not _has_stages(node, frame) else found
        inner = entered_by(node, frame) if depth < MAX_DEPTH else None
        values = returns(inner) if inner is not None else []
        return source_axes(values[0], inner, depth + 1) if inner is not None and len(values) == 1 else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call) and depth < MAX_DEPTH:
        ends = ast.unparse(node.slice) in ("0", "-1")
        listed = (
            ends and last_name(node.value.func) == "get_process_group_ranks" and len(node.value.args) == 1
        )
        return group_axes(node.value.args[0], frame) if listed else None
    if isinstance(node, ast.Name | ast.Attribute) and depth < MAX_DEPTH:
        found_axes = {source_axes(value, where, depth + 1) for value, where in frame.definitions(node)}
        return found_axes.pop() if len(found_axes) == 1 else None
    return None
