"""The size of the TP group, however it is asked for: a getter of the framework, or the group itself."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import as_code
from .values import TP, Sym, Value

_GETTER = re.compile(
    r"get_(attn_|attention_)?(tensor_model_parallel|tensor_parallel|model_parallel|tensor_and_expert_parallel|tp)"
    r"_(world_)?size"
)

_RANK = re.compile(r"get_(attn_|attention_)?(tensor_model_parallel|tensor_parallel|tp)_rank")

_GROUP = re.compile(r"(?:.*\.)?_?(tp|tp_group|tensor_((model_)?parallel_)?group)")

_OTHER_AXIS = re.compile(
    r"(?i)(^|[._])(dp|data|cp|context|sp|seq|sequence|ulysses|ring|ep|expert|moe|pp|pipe\w*|dist|comm)([._]|$)|_parallel_group"
)
"""Groups of another axis, by their names."""


def is_size_getter(name: str) -> bool:
    """Whether a function of this name returns the TP size: `get_tensor_model_parallel_world_size`, `get_tp_size`."""
    return _GETTER.fullmatch(name) is not None


def is_rank_getter(name: str) -> bool:
    """Whether a function of this name returns the rank in the TP group."""
    return _RANK.fullmatch(name) is not None


_OTHER_GROUP = re.compile(r"get_(data|pipeline_model|context|expert_data)_parallel_group")


def is_of_other_axis(node: ast.expr) -> bool:
    """Whether a collective names a group of Megatron that is no tensor-parallel one."""
    given = [k.value for k in node.keywords if k.arg == "group"] if isinstance(node, ast.Call) else []
    return bool(given) and _OTHER_GROUP.search(as_code(given[0])) is not None


SIZE_ASKED = frozenset(("size", "get_pg_size", "get_world_size"))
"""Names of what asks for the size of a group."""

_NAMES_TP = re.compile(
    r"(^|[._(])(tp|tensor(_model)?_parallel|model_parallel|mp)_group|_(tensor_)?model_parallel_group"
)


def sums_over_tp(node: ast.expr) -> bool:
    """Whether an all-reduce adds up over a group that is the tensor-parallel one by its name."""
    given = {k.arg: as_code(k.value) for k in node.keywords if k.arg} if isinstance(node, ast.Call) else {}
    op = given.get(
        "op", as_code(node.args[1]) if isinstance(node, ast.Call) and len(node.args) > 1 else "SUM"
    )
    return op.endswith("SUM") and _NAMES_TP.search(given.get("group", "")) is not None


_MESH = frozenset(("tp", "tensor", "tensor_parallel", "model_parallel"))
"""Names of the tensor-parallel dimension of a mesh: `mesh["tp"].size()`."""


def size_asked(node: ast.Call, builds: bool) -> Value | None:
    """The TP size where a call asks a group for it: `self.tp_group.size()`, `get_pg_size(pg_collection.tp)`.

    `builds`: torch's own `get_world_size` in the constructor of a module, where it divides nothing but a model.
    """
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if name == "size" and isinstance(func, ast.Attribute) and not node.args:
        group: ast.expr | None = func.value
    elif name in ("get_pg_size", "get_world_size"):
        group = next(iter((*node.args, *(keyword.value for keyword in node.keywords))), None)
    else:
        return None
    if _is_tp_group(group):
        return Sym.named("tp", TP)
    if builds and name == "get_world_size":
        named = isinstance(group, ast.Name | ast.Attribute)
        if group is None or (named and _OTHER_AXIS.search(as_code(group)) is None):
            return Sym.named("tp", TP)
    return None


def is_size_of_group(node: ast.expr) -> bool:
    """Whether an expression reads the size of a TP group from the group itself: `plan.tensor_group.size`."""
    return (
        isinstance(node, ast.Attribute) and node.attr in ("size", "world_size") and _is_tp_group(node.value)
    )


def _is_tp_group(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value in _MESH
    return isinstance(node, ast.Name | ast.Attribute) and _GROUP.fullmatch(as_code(node)) is not None
