"""The sizes of a tensor on one rank, dimension by dimension, and which of them is split: S(d) of the placements.

Known from the first view on; every operation that moves dimensions carries them, all others forget them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .events import AllHeadsMet
from .interpreter import Interpreter
from .operators import ARITHMETIC
from .states import State
from .symbols import Poly
from .values import PER_RANK, UNKNOWN, Const, Heap, Kwargs, Seq, Sym, Tensor, Value, number, poly_of

Dims = tuple[tuple[Value, ...], int | None]
"""The sizes, and the index of the split one."""


def carried(
    interp: Interpreter, name: str, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, result: Value
) -> Value:
    """`result` of the operation `name` on `tensor`, with the dimensions it has after it."""
    if isinstance(result, Seq):
        return _parts(interp, name, tensor, rest, kwargs, result)
    if not isinstance(result, Tensor):
        return result
    if name in ("view", "reshape"):
        return _with(result, viewed(interp, tensor, listed(interp, rest)))
    if result is tensor or name.rstrip("_") in ARITHMETIC or (tensor.sizes is None and result.sizes is None):
        return result
    if tensor.sizes is None or (name not in _MOVES and name not in _SAME):
        return result.but(sizes=None, axis=None)
    if name in _SAME:
        return _with(result, (tensor.sizes, tensor.axis))
    return _with(result, _MOVES[name](interp, tensor.sizes, tensor.axis, rest, kwargs))


def _with(tensor: Tensor, dims: Dims | None) -> Tensor:
    if dims is None:
        return tensor.but(sizes=None, axis=None)
    sizes, axis = dims
    if tensor.state is not State.SHARDED or axis is None:
        return tensor.but(sizes=sizes, axis=None)
    return tensor.but(sizes=sizes, axis=axis, last=axis == len(sizes) - 1)


def items_of(value: Value) -> Seq | None:
    """The items of a tuple or a list."""
    content = value.attrs.get("content") if isinstance(value, Heap) else value
    return content if isinstance(content, Seq) else None


def listed(interp: Interpreter, rest: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """The sizes given one by one or as one tuple."""
    if len(rest) == 1 and isinstance(rest[0], Seq | Heap):
        found = items_of(rest[0])
        return found.items if found is not None and found.rest is None else None
    return rest or None


def viewed(interp: Interpreter, tensor: Tensor, sizes: tuple[Value, ...] | None) -> Dims | None:
    """The dimensions of a view: the one size that is per rank is the split one."""
    if sizes is None or any(not isinstance(size, Const | Sym) for size in sizes):
        return None
    shares = [index for index, size in enumerate(sizes) if _per_rank(size)]
    if tensor.state is State.SHARDED and len(shares) != 1:
        return (sizes, None) if not shares else None
    return sizes, shares[0] if tensor.state is State.SHARDED else None


def _per_rank(size: Value) -> bool:
    return isinstance(size, Sym) and PER_RANK in size.tags


def shape(interp: Interpreter, tensor: Tensor) -> Seq | None:
    """What `.shape` gives where every size is known; a -1 is some number."""
    if tensor.sizes is None or (tensor.state is State.SHARDED and tensor.axis is None):
        return None
    return Seq(tuple(interp.fresh("size") if size == Const(-1) else size for size in tensor.sizes))


def _index(value: Value | None, count: int) -> int | None:
    if not isinstance(value, Const) or type(value.value) is not int:
        return None
    index: int = value.value + count if value.value < 0 else value.value
    return index if 0 <= index < count else None


def _permuted(
    interp: Interpreter, sizes: tuple[Value, ...], axis: int | None, rest: tuple[Value, ...], kwargs: Kwargs
) -> Dims | None:
    order = [_index(item, len(sizes)) for item in listed(interp, rest) or ()]
    if sorted(part for part in order if part is not None) != list(range(len(sizes))):
        return None
    known = [part for part in order if part is not None]
    return tuple(sizes[part] for part in known), known.index(axis) if axis is not None else None


def _transposed(
    interp: Interpreter, sizes: tuple[Value, ...], axis: int | None, rest: tuple[Value, ...], kwargs: Kwargs
) -> Dims | None:
    given = rest if len(rest) == 2 else (kwargs.get("dim0"), kwargs.get("dim1"))
    first, second = (_index(part, len(sizes)) for part in given)
    if first is None or second is None:
        return None
    order = list(range(len(sizes)))
    order[first], order[second] = order[second], order[first]
    return tuple(sizes[part] for part in order), order.index(axis) if axis is not None else None


def _flattened(
    interp: Interpreter, sizes: tuple[Value, ...], axis: int | None, rest: tuple[Value, ...], kwargs: Kwargs
) -> Dims | None:
    start = _index(rest[0] if rest else kwargs.get("start_dim", Const(0)), len(sizes))
    end = _index(rest[1] if len(rest) > 1 else kwargs.get("end_dim", Const(-1)), len(sizes))
    if start is None or end is None or end < start:
        return None
    joined = _product(sizes[start : end + 1])
    moved = axis
    if axis is not None and axis > end:
        moved = axis - (end - start)
    elif axis is not None and axis >= start:
        moved = start
    return (*sizes[:start], joined, *sizes[end + 1 :]), moved


def _product(sizes: Sequence[Value]) -> Value:
    tags: frozenset[str] = frozenset()
    total = poly_of(Const(1))
    for size in sizes:
        poly = poly_of(size)
        if poly is None or total is None or size == Const(-1):
            return UNKNOWN
        total = total * poly
        tags |= size.tags if isinstance(size, Sym) else frozenset()
    return number(total, tags) if total is not None else UNKNOWN


def _unsqueezed(
    interp: Interpreter, sizes: tuple[Value, ...], axis: int | None, rest: tuple[Value, ...], kwargs: Kwargs
) -> Dims | None:
    at = _index(rest[0] if rest else kwargs.get("dim"), len(sizes) + 1)
    if at is None:
        return None
    moved = axis + 1 if axis is not None and axis >= at else axis
    return (*sizes[:at], Const(1), *sizes[at:]), moved


def _repeated(
    interp: Interpreter, sizes: tuple[Value, ...], axis: int | None, rest: tuple[Value, ...], kwargs: Kwargs
) -> Dims | None:
    times = rest[0] if rest else kwargs.get("repeats", UNKNOWN)
    at = _index(kwargs.get("dim", rest[1] if len(rest) > 1 else None), len(sizes))
    if at is None:
        return None
    longer = _product((sizes[at], times))
    return None if longer is UNKNOWN else ((*sizes[:at], longer, *sizes[at + 1 :]), axis)


_MOVES = {
    "repeat_interleave": _repeated,
    "permute": _permuted,
    "transpose": _transposed,
    "swapaxes": _transposed,
    "flatten": _flattened,
    "unsqueeze": _unsqueezed,
}

_SAME = frozenset("softmax log_softmax roll flip cumsum layer_norm rms_norm normalize group_norm".split())


def of_product(result: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """`result` of `left @ right` where both are split along the same batch dimension."""
    if left.sizes is None or right.sizes is None or len(left.sizes) != len(right.sizes):
        return result
    if left.axis is None or left.axis != right.axis or left.axis >= len(left.sizes) - 2:
        return result
    return _with(result, ((*left.sizes[:-1], right.sizes[-1]), left.axis))


def of_rows(left: Tensor) -> Tensor | None:
    """`left @ x` of a value split along another than its last dimension, whatever x is: that dimension is kept."""
    if left.state is not State.SHARDED or left.sizes is None or left.axis is None:
        return None
    if left.axis >= len(left.sizes) - 1:
        return None
    kept = Tensor(State.SHARDED, last=False, why=left.why, group=left.group)
    return _with(kept, ((*left.sizes[:-1], UNKNOWN), left.axis))


def of_letters(text: str, left: Value, right: Value) -> Tensor | None:
    """The result of an einsum with one split operand, where the letter of its split dimension is in the result."""
    given, _, made = text.replace(" ", "").partition("->")
    first, _, second = given.partition(",")
    for letters, tensor, other in ((first, left, right), (second, right, left)):
        if not isinstance(tensor, Tensor) or tensor.state is not State.SHARDED or isinstance(other, Tensor):
            continue
        if tensor.axis is None or tensor.sizes is None or len(letters) != len(tensor.sizes):
            continue
        if letters[tensor.axis] in made and made.isalpha():
            sizes = tuple(tensor.sizes[letters.index(a)] if a in letters else UNKNOWN for a in made)
            kept = Tensor(State.SHARDED, last=False, why=tensor.why, group=tensor.group)
            return _with(kept, (sizes, made.index(letters[tensor.axis])))
    return None


def _parts(
    interp: Interpreter,
    name: str,
    tensor: Tensor,
    rest: tuple[Value, ...],
    kwargs: Kwargs,
    parts: Seq,
) -> Value:
    """The parts of a split: one size differs from the whole's."""
    given = rest[0] if rest else next(iter(kwargs.values()), UNKNOWN)
    at = kwargs.get("dim", rest[1] if len(rest) > 1 else Const(0))
    where = _index(at, len(tensor.sizes)) if tensor.sizes is not None else None
    found = items_of(given) if name in ("split", "split_with_sizes") else None
    each: Value = given if name == "split" and isinstance(given, Sym) else UNKNOWN
    if name == "chunk" and where is not None and tensor.sizes is not None:
        whole, count = poly_of(tensor.sizes[where]), poly_of(given)
        divided = whole.divided(count) if whole is not None and count is not None else None
        each = number(divided) if divided is not None and tensor.sizes[where] != Const(-1) else UNKNOWN

    def sized(part: Value | None, size: Value) -> Value | None:
        if not isinstance(part, Tensor):
            return part
        if tensor.sizes is None or where is None or size is UNKNOWN or where == tensor.axis:
            return part.but(sizes=None, axis=None)
        sizes = (*tensor.sizes[:where], size, *tensor.sizes[where + 1 :])
        return _with(part, (sizes, tensor.axis))

    given_sizes = found.items if found is not None else ()
    items = [
        sized(part, given_sizes[index] if index < len(given_sizes) else each)
        for index, part in enumerate(parts.items)
    ]
    return Seq(tuple(item for item in items if item is not None), sized(parts.rest, each), parts.kind)


def met(interp: Interpreter, left: Tensor, right: Tensor, node: ast.expr) -> None:
    """Elementwise arithmetic: where one operand is split along its heads, the other must not hold all of them there."""
    for split, other in ((left, right), (right, left)):
        held = other.sizes if other.sizes is not None else other.dims
        if split.state is not State.SHARDED or split.sizes is None or split.axis is None or held is None:
            continue
        at = split.axis - len(split.sizes) + len(held)
        if other.state is State.SHARDED or not 0 <= at < len(held):
            continue
        mine, theirs = poly_of(split.sizes[split.axis]), held[at]
        whole = poly_of(theirs)
        if mine is None or whole is None or not isinstance(theirs, Sym) or _per_rank(theirs):
            continue
        if (mine * Poly.atom("tp")).substituted(interp.equal) == whole.substituted(interp.equal):
            interp.emit(AllHeadsMet, node, tensor=split, size=theirs.text)
