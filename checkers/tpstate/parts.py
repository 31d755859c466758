"""What one rank takes out of its part of a dimension, and how the ranks' are put together."""

from __future__ import annotations

import ast

from ..language import tr
from .choices import alternatives
from .interpreter import Interpreter
from .parameter_events import LookedUp, WronglyReduced
from .states import State
from .values import Const, Kwargs, Sym, Tensor, Value

PART = "part"
"""The role of a maximum, sum or norm over one rank's part of a dimension."""

PICK, MASKED = "pick", "masked pick"
"""Elements looked up in one rank's part; with those of other ranks set to zero."""

TOGETHER = "together"
"""The same of all ranks, after an all-reduce."""

SHIFTED = "shifted"
"""Numbers from which the start of the rank's part was subtracted."""


def picked(
    interp: Interpreter, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Tensor | None:
    """`logits.gather(-1, index)` of a split last dimension."""
    dim = kwargs.get("dim", rest[0] if rest else None)
    if tensor.state is not State.SHARDED or not tensor.last or dim != Const(-1):
        return None
    index = kwargs.get("index", rest[1] if len(rest) > 1 else None)
    leaves = [leaf for _, leaf in alternatives(interp.settle(index))] if index is not None else []
    if leaves and all(
        isinstance(leaf, Tensor) and leaf.tag == "argument" and not leaf.role for leaf in leaves
    ):
        interp.emit(LookedUp, node, tensor=tensor)
    why = interp.step(node, tr("each rank looks up in its own part"), tensor.why)
    return Tensor(State.UNKNOWN, role=PICK, why=why)


def masked(value: Tensor) -> Tensor:
    """A pick of which other ranks' elements are zero."""
    return value.but(role=MASKED) if value.role == PICK else value


def shifted(tensor: Tensor, other: Value) -> Tensor:
    """Numbers that the rank has a part in."""
    by_rank = isinstance(other, Sym) and "tp_rank" in other.poly.atoms()
    return tensor.but(role=SHIFTED) if by_rank and tensor.tag == "argument" else tensor


def put_together(interp: Interpreter, given: Tensor, node: ast.Call) -> Tensor:
    """What a variable holds after `dist.all_reduce` of what one rank took."""
    asked = [word.value for word in node.keywords if word.arg == "op"] or node.args[1:2]
    operation = ast.unparse(asked[0]).rsplit(".", 1)[-1] if asked else "SUM"
    why = given.why
    largest = why is not None and any(f"`{name}`" in str(why.text) for name in ("max", "amax"))
    if given.role == PART and largest and operation == "SUM":
        interp.emit(WronglyReduced, node, tensor=given, how=tr("a maximum of each rank is summed"))
    elif given.role == PICK and operation == "SUM":
        how = tr("each rank adds what it looked up, also where the index is another rank's")
        interp.emit(WronglyReduced, node, tensor=given, how=how)
    elif given.role == MASKED and operation == "MAX":
        how = tr("the maximum with the zeros of the other ranks is no look-up where the value is negative")
        interp.emit(WronglyReduced, node, tensor=given, how=how)
    return given.but(role=TOGETHER)


def met(interp: Interpreter, left: Tensor, right: Tensor, node: ast.expr) -> None:
    """What one rank took meets what all ranks put together."""
    own, other = (left, right) if left.role in (PART, PICK, MASKED) else (right, left)
    if own.role in (PART, PICK, MASKED) and other.role == TOGETHER and own.why != other.why:
        how = tr("one rank's part meets a result of all ranks before it is all-reduced itself")
        interp.emit(WronglyReduced, node, tensor=own, how=how)
