"""Tensors made empty and filled in place: what their sizes say, and what a kernel writes into them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache

from ..facts.nodes import as_code
from ..language import tr
from .frames import Frame
from .interpreter import Interpreter
from .states import State
from .values import HEADS, PER_RANK, Known, Kwargs, Pair, Sym, Tensor, Value

ROLE = "buffer"
_IN_PLACE = re.compile(r"(?i)in_?place")


def made(interp: Interpreter, dims: tuple[Value, ...], node: ast.expr) -> Tensor:
    """`torch.empty(tokens, heads_per_rank, size)`: a size per rank says which dimension is split."""
    last, heads = _is_share(dims[-1:]), len(dims) > 2 and _is_share(dims[-2:-1], HEADS)
    if len(dims) < 2 or not (last or heads):
        return Tensor(State.UNKNOWN, dims=dims, role=ROLE)
    why = interp.step(node, tr("it is made with a size per rank, so it is split"))
    return Tensor(State.SHARDED, last=last, why=why, dims=dims, role=ROLE)


def _is_share(sizes: tuple[Value, ...], *tags: str) -> bool:
    return all(isinstance(size, Sym) and {PER_RANK, *tags} <= size.tags for size in sizes)


def filled(
    interp: Interpreter, frame: Frame, callee: Value, node: ast.Call, args: Iterable[Value], kwargs: Kwargs
) -> Tensor | None:
    """A kernel that is given an empty tensor beside a split one writes a split one into it; the tensor it left.

    Torch's own functions return what they make, and so do activations; a whole tensor says nothing of what is written.
    """
    if isinstance(callee, Known) and callee.dotted.startswith("torch.") and ".ops." not in callee.dotted:
        return None
    given = [*args, *kwargs.values()]
    for value in given:
        if type(value) is Tensor and value.role == ROLE:
            break
    else:
        return None
    parts = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is not None)]
    if len(parts) != len(given) or not any(_is_empty(value) for value in given):
        return None
    source = next((split for split in map(_split, map(interp.settle, given)) if split is not None), None)
    if source is None:
        return None
    why = interp.step(node, tr("it is filled in place from a split tensor"), source.why)
    left: Tensor | None = None
    for part, value in zip(parts, given, strict=True):
        if isinstance(value, Tensor) and _is_empty(value):
            left = value.but(state=State.SHARDED, last=False, width=None, why=why, group=source.group)
            if isinstance(part, ast.Name) and part.id in frame.vars:
                interp.write(frame.vars, part.id, left)
    return left


def _is_empty(value: Value) -> bool:
    return isinstance(value, Tensor) and value.role == ROLE and value.state is State.UNKNOWN


def _split(value: Value) -> Tensor | None:
    value = value.output if isinstance(value, Pair) else value
    return value if isinstance(value, Tensor) and value.state is State.SHARDED else None


@cache
def _is_in_place(name: str) -> bool:
    return _IN_PLACE.search(name) is not None


def overwritten(interp: Interpreter, frame: Frame, node: ast.Call) -> None:
    """`inplace_experts(x, …)`: what its tensors hold from there on is not known."""
    if not _is_in_place(as_code(node.func)):
        return
    for part in node.args:
        if isinstance(part, ast.Name) and isinstance(frame.vars.get(part.id), Tensor):
            interp.write(frame.vars, part.id, Tensor(State.UNKNOWN))


def returned(result: Value, left: Tensor | None) -> Value:
    """What a call returns that filled a buffer: the buffer, where it returns it."""
    return left if left is not None and _is_empty(result) else result
