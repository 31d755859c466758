"""The helpers that gather, reduce, split and copy across the TP ranks."""

from __future__ import annotations

import ast

from ..language import tr
from . import calls, tokens
from .events import LossOnGathered
from .interpreter import Interpreter
from .parameter_events import WholeCollected
from .states import State
from .token_events import TokensGathered
from .values import UNKNOWN, Const, Kwargs, Tensor, Value

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


def collective(
    interp: Interpreter, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value | None:
    """A TP region helper by its name; None when it is none."""
    if name in tokens.REGIONS:
        given = args[0] if args else kwargs.get("input_", UNKNOWN)
        return interp.lift(lambda value: _of_sequence(interp, name, value, kwargs, node), given)
    if name not in _GATHER + _REDUCE_OPS + _SCATTER + _COPY and "parallel_cross_entropy" not in name:
        return None

    own_group = len(args) > 1 or bool(kwargs)

    def apply(value: Value) -> Value:
        value = calls.as_tensor(interp, value, node, tr("it is passed to `%(name)s`", name=name))
        tensor = value if isinstance(value, Tensor) else Tensor(State.UNKNOWN)
        interp.reduced.add(tensor.tag)
        if (
            name in _GATHER + _REDUCE_OPS
            and tensor.state is State.FULL
            and tensor.role == "row"
            and not own_group
        ):
            interp.emit(WholeCollected, node, tensor=tensor, call=name, gathers=name in _GATHER)
        if name in _GATHER:
            return Tensor(
                State.FULL,
                width=tensor.width,
                why=interp.step(node, tr("`%(name)s` makes it full", name=name)),
                role="gathered",
                tokens=tensor.tokens,
            )
        if name in _REDUCE_OPS:
            why = interp.step(node, tr("`%(name)s` makes it full", name=name))
            return Tensor(State.FULL, width=tensor.width, why=why, role="row", tokens=tensor.tokens)
        if name in _SCATTER and tensor.state in (State.SHARDED, State.PARTIAL):
            return Tensor(State.UNKNOWN)  # parts of parts: of no whole
        if name in _SCATTER:
            why = interp.step(node, tr("`%(name)s` splits it", name=name))
            return Tensor(State.SHARDED, width=tensor.width, why=why, tokens=tensor.tokens)
        if name in _COPY:
            role = "" if tensor.role == "parameter" else tensor.role
            return tensor.but(role=role, tag="copied" if tensor.tag == "argument" else tensor.tag)
        if tensor.state is State.FULL:
            interp.emit(LossOnGathered, node, tensor=tensor)
        return Tensor(State.UNKNOWN)

    return interp.lift(apply, args[0]) if args else UNKNOWN


def _of_sequence(interp: Interpreter, name: str, given: Value, kwargs: Kwargs, node: ast.expr) -> Value:
    """The functions that gather, scatter and reduce-scatter along the sequence."""
    value = calls.as_tensor(interp, given, node, tr("it is passed to `%(name)s`", name=name))
    tensor = value if isinstance(value, Tensor) else Tensor(State.UNKNOWN)
    interp.reduced.add(tensor.tag)
    after = tokens.of_region(interp, name, tensor, kwargs, node)
    before = tokens.holds(interp, tensor.tokens)
    if (
        after is not None
        and before is not None
        and before.held == after.held
        and tokens.same_flag(before, after)
    ):
        interp.emit(TokensGathered, node, tokens=before, taker=f"`{name}`")
    if name.startswith("reduce"):
        why = interp.step(node, tr("`%(name)s` makes it full", name=name))
        return Tensor(State.FULL, width=tensor.width, why=why, role="row", tokens=after)
    sums = kwargs.get("tensor_parallel_output_grad") != Const(False)  # the gradients of the ranks
    tag = "copied" if tensor.tag == "argument" else tensor.tag
    tag = tag if sums else "uncopied"
    return tensor.but(dims=None, sizes=None, axis=None, tokens=after, tag=tag)
