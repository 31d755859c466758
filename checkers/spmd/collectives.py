"""Which calls are collectives, over which group."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..project.project import External, FunctionRef, Project, dotted_name
from ..project.scopes import Scope
from . import names
from .axes import group_axes
from .engines import entered_together
from .frames import Frame, kept
from .names import WORLD, Axes

_LIBRARIES = ("torch.distributed", "torch.distributed.distributed_c10d", "deepspeed.comm")


@dataclass(frozen=True, eq=False)
class Collective:
    """A call that every rank of a group must enter. `group` is None for the default group, `axes` where unknown."""

    node: ast.Call
    name: str
    axes: Axes | None
    group: ast.expr | None
    is_torch: bool


@kept
def collective(node: ast.Call, frame: Frame, _: int) -> Collective | None:
    """The collective that a call is, by the library that its name comes from."""
    name = frame.called(node.func)
    if name in names.TORCH_COLLECTIVES and _from_torch(node.func, frame):
        return _of_torch(node, name, frame)
    if name in names.COORDINATOR and isinstance(node.func, ast.Attribute):
        axes = _coordinator(node.func.value, frame)
        return None if axes is None else Collective(node, name, axes, None, False)
    named = names.lookup(names.NAMED_COLLECTIVES, name)
    if named is not None and isinstance(frame.ref(node.func), FunctionRef | External):
        group = frame.argument(node, "group", 99)
        return Collective(node, name, named if group is None else group_axes(group, frame), group, False)
    together = entered_together(node, frame)
    return None if together is None else Collective(node, name, together, None, False)


def torch_name(node: ast.Call, frame: Frame) -> str:
    """The name of a function of torch.distributed that a call runs, or an empty text."""
    return frame.called(node.func) if _from_torch(node.func, frame) else ""


def _from_torch(func: ast.expr, frame: Frame) -> bool:
    return frame.external(func).rpartition(".")[0] in _LIBRARIES


def _of_torch(node: ast.Call, name: str, frame: Frame) -> Collective | None:
    if name in ("new_group", "new_subgroups"):
        local = frame.argument(node, "use_local_synchronization", 99)
        return None if local is not None else Collective(node, name, WORLD, None, True)
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        return Collective(node, name, None, None, True)
    group = frame.argument(node, "group", names.TORCH_COLLECTIVES[name])
    return Collective(node, name, group_axes(group, frame), group, True)


def _coordinator(node: ast.expr, frame: Frame) -> Axes | None:
    """The axes of a group object of vLLM or SGLang: `get_tp_group()`, or a name that holds one."""
    if isinstance(node, ast.Call):
        name = frame.called(node.func)
        is_short = name in ("get_tp_group", "get_pp_group", "get_dp_group", "get_ep_group", "get_world_group")
        return group_axes(node, frame) if is_short or name == "get_attention_tp_group" else None
    if isinstance(node, ast.Name | ast.Attribute):
        found = {_coordinator(value, where) for value, where in frame.definitions(node)}
        return found.pop() if len(found) == 1 else None
    return None


def is_async(node: ast.Call) -> bool:
    """Whether a collective may give a handle back."""
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg == "async_op":
            return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    return any(
        isinstance(arg, ast.Starred) or (isinstance(arg, ast.Name) and "async" in arg.id) for arg in node.args
    )


def written(node: ast.Call) -> str:
    """How a message names a call."""
    return dotted_name(node.func) or ast.unparse(node.func)


class Entered:
    """The collectives that stand in each function, listed once."""

    def __init__(self, project: Project) -> None:
        self._found: dict[Scope, list[Collective]] = {}

    def of(self, frame: Frame) -> list[Collective]:
        """Those of one function in source order, with what its own text says of their groups."""
        if frame.scope not in self._found:
            self._found[frame.scope] = [
                found for node in frame.scope.calls if (found := collective(node, frame)) is not None
            ]
        return self._found[frame.scope]
