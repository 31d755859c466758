"""The helpers that gather, reduce, split and copy across the TP ranks."""

from __future__ import annotations

import ast

from . import calls
from .events import (
    LossOnGathered,
)
from .interpreter import Interpreter
from .states import State
from .values import UNKNOWN, Tensor, Value

_GATHER = (
    "gather_from_tensor_model_parallel_region",
    "tensor_model_parallel_all_gather",
    "gather_from_model_parallel_region",
    "all_gather_last_dim_from_tensor_parallel_region",
)

_REDUCE_OPS = (
    "reduce_from_tensor_model_parallel_region",
    "tensor_model_parallel_all_reduce",
    "reduce_from_model_parallel_region",
)

_SCATTER = ("scatter_to_tensor_model_parallel_region", "scatter_to_model_parallel_region")

_COPY = ("copy_to_tensor_model_parallel_region", "copy_to_model_parallel_region")


def collective(interp: Interpreter, name: str, args: tuple[Value, ...], node: ast.expr) -> Value | None:
    """A TP region helper by its name; None when it is none."""
    if name not in _GATHER + _REDUCE_OPS + _SCATTER + _COPY and "parallel_cross_entropy" not in name:
        return None

    def apply(value: Value) -> Value:
        value = calls.as_tensor(interp, value, node, f"it is passed to `{name}`")
        tensor = value if isinstance(value, Tensor) else Tensor(State.UNKNOWN)
        interp.reduced.add(tensor.tag)
        if name in _GATHER:
            return Tensor(
                State.FULL,
                width=tensor.width,
                why=interp.step(node, f"`{name}` makes it full"),
                role="gathered",
            )
        if name in _REDUCE_OPS:
            return Tensor(
                State.FULL, width=tensor.width, why=interp.step(node, f"`{name}` makes it full"), role="row"
            )
        if name in _SCATTER:
            return Tensor(State.SHARDED, width=tensor.width, why=interp.step(node, f"`{name}` splits it"))
        if name in _COPY:
            return tensor
        if tensor.state is State.FULL:
            interp.emit(LossOnGathered, node, tensor=tensor)
        return Tensor(State.UNKNOWN)

    return interp.lift(apply, args[0]) if args else UNKNOWN
