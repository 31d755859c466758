"""Parameters: the part of a whole that a rank keeps, and the mark that says along which dimension it was cut."""

from __future__ import annotations

import ast

from .interpreter import Interpreter
from .parameter_events import FirstPartTaken, ParameterMarked
from .symbols import Poly
from .values import NONE, PER_RANK, UNKNOWN, Const, Kwargs, Seq, Slice, Sym, Tensor, Value, number, poly_of


def marked_by_call(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> None:
    """`set_tensor_model_parallel_attributes(parameter, is_parallel, dim, stride)`"""
    given = dict(zip(("tensor", "is_parallel", "dim", "stride"), args, strict=False)) | kwargs
    is_parallel = interp.settle(given.get("is_parallel", UNKNOWN))
    if isinstance(is_parallel, Const) and isinstance(is_parallel.value, bool):
        tensor, dim = given.get("tensor", UNKNOWN), given.get("dim", UNKNOWN)
        marked(interp, tensor, dim, node, is_cut=is_parallel.value)


def marked(interp: Interpreter, parameter: Value, dim: Value, node: ast.expr, *, is_cut: bool = True) -> None:
    """A parameter is said to be cut along a dimension, or to be whole."""
    parameter, dim = interp.settle(parameter), interp.settle(dim)
    if not isinstance(parameter, Tensor) or parameter.dims is None or not isinstance(dim, Const):
        return
    if type(dim.value) is int and -len(parameter.dims) <= dim.value < len(parameter.dims):
        at = dim.value % len(parameter.dims)
        interp.emit(ParameterMarked, node, sizes=parameter.dims, dim=at, is_cut=is_cut)


def narrowed(tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs) -> tuple[Value, ...] | None:
    """The sizes after `tensor.narrow(dim, start, length)`."""
    given = dict(zip(("dim", "start", "length"), rest, strict=False)) | kwargs
    dim, length = given.get("dim"), given.get("length", UNKNOWN)
    if tensor.dims is None or not isinstance(dim, Const) or type(dim.value) is not int:
        return None
    if not -len(tensor.dims) <= dim.value < len(tensor.dims):
        return None
    sizes = list(tensor.dims)
    sizes[dim.value] = length
    return tuple(sizes)


def first_part(interp: Interpreter, tensor: Tensor, index: Value, node: ast.expr) -> None:
    """`table[:per_rank]`: the beginning of a whole table on every rank."""
    parts = index.items if isinstance(index, Seq) and index.rest is None else (index,)
    if tensor.dims is None or len(parts) > len(tensor.dims):
        return
    for part, whole in zip(parts, tensor.dims, strict=False):
        if isinstance(part, Slice) and part.lower in (NONE, Const(0)) and part.step == NONE:
            first_length(interp, whole, part.upper, node)


def first_length(interp: Interpreter, whole: Value, length: Value, node: ast.expr) -> None:
    """As many as one rank's part, cut off at the start; where the code asks for the rank, that may be right."""
    size, part = poly_of(whole), poly_of(length)
    if size is None or part is None or not isinstance(length, Sym) or PER_RANK not in length.tags:
        return
    asked = any("rank" in key for key in (*interp.branch, *interp.choice))
    if part == size.floor_divided(Poly.atom("tp")) and not asked:
        interp.emit(FirstPartTaken, node, length=length, whole=whole)


def indexed(tensor: Tensor, index: Value) -> tuple[Value, ...] | None:
    """The sizes after `tensor[index]`, of numbers and slices."""
    parts = index.items if isinstance(index, Seq) and index.rest is None else (index,)
    if tensor.dims is None or len(parts) > len(tensor.dims):
        return None
    sizes: list[Value] = []
    for at, part in enumerate(parts):
        if isinstance(part, Slice):
            sizes.append(_cut(tensor.dims[at], part))
        elif not isinstance(part, Sym) and not (isinstance(part, Const) and type(part.value) is int):
            return None
    return (*sizes, *tensor.dims[len(parts) :])


def _cut(size: Value, part: Slice) -> Value:
    if part.step != NONE:
        return UNKNOWN
    if part.lower == NONE and part.upper == NONE:
        return size
    lower = Const(0) if part.lower == NONE else part.lower
    upper = size if part.upper == NONE else part.upper
    low, high = poly_of(lower), poly_of(upper)
    tags: frozenset[str] = frozenset()
    for end in (lower, upper):
        tags |= end.tags if isinstance(end, Sym) else frozenset()
    return UNKNOWN if low is None or high is None else number(high - low, tags)
