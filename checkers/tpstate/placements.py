"""Operations that need the whole of a dimension, or the whole of a sum, and what meets them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..facts.nodes import walk
from ..language import tr
from .events import HeadsTiled, PartialMet, Reshaped, SplitWhole, WholeNeeded
from .interpreter import Interpreter
from .operators import NONLINEAR, WHOLE
from .parameter_events import PartReduced
from .parts import PART
from .states import State, Step
from .symbols import Poly
from .values import Const, Kwargs, Seq, Tensor, Value, poly_of

_LAST_BY_DEFAULT = frozenset({"topk", "sort", "argsort"})


def applied(
    interp: Interpreter,
    name: str,
    tensor: Tensor,
    rest: tuple[Value, ...],
    kwargs: Kwargs,
    node: ast.expr,
) -> bool:
    """`name` is applied to a tensor: note what it needs and does not get. Whether the result is of no type any more."""
    bare = name.rstrip("_")
    if tensor.state is State.PARTIAL and bare in NONLINEAR:
        interp.emit(
            PartialMet,
            node,
            tensor=tensor,
            other=None,
            how=tr("enters `%(bare)s`, which is not linear", bare=bare),
        )
    if tensor.state is State.SHARDED and bare in WHOLE and _over_split(tensor, bare, rest, kwargs):
        interp.emit(WholeNeeded, node, tensor=tensor, operation=bare)
    return tensor.state is State.PARTIAL and bare in NONLINEAR


_REDUCES = frozenset("max amax min amin sum logsumexp norm prod".split())


def reduced_part(
    interp: Interpreter,
    tensor: Tensor,
    name: str,
    rest: tuple[Value, ...],
    kwargs: Kwargs,
    width: Poly | None,
    node: ast.expr,
) -> Tensor | None:
    """The result of a reduction over the split dimension: one rank's part of it."""
    if tensor.state is not State.SHARDED or name not in _REDUCES:
        return None
    where = rest[1:] if name == "norm" else rest
    if not _over_dims(tensor, kwargs.get("dim", kwargs.get("axis", where[0] if where else None))):
        return None
    why = interp.step(node, tr("`%(name)s` runs over one rank's part", name=name), tensor.why)
    return Tensor(State.UNKNOWN, width=width, role=PART, why=why)


def met_part(interp: Interpreter, left: Tensor, right: Tensor, node: ast.expr) -> None:
    """`logits - logits.max(dim=-1).values` of a split dimension: each rank with its own maximum."""
    part, other = (left, right) if left.role == PART else (right, left)
    if part.role == PART and other.state is State.SHARDED and other.last:
        interp.emit(PartReduced, node, tensor=other, part=part)


def tiled(interp: Interpreter, tensor: Tensor, times: tuple[Value, ...], node: ast.expr) -> None:
    """`k.repeat(1, 1, groups, 1)` along the heads: head i of a rank is then key i % (its heads), not i // groups."""
    if tensor.sizes is None or tensor.axis is None or len(times) != len(tensor.sizes):
        return
    if len(tensor.sizes) > 2 and tensor.axis < len(tensor.sizes) - 1 and times[tensor.axis] != Const(1):
        interp.emit(HeadsTiled, node, tensor=tensor)


def _over_split(tensor: Tensor, name: str, rest: tuple[Value, ...], kwargs: Kwargs) -> bool:
    """Whether an operation runs over the dimension that is split."""
    where = WHOLE[name]
    if where is None:
        return tensor.last
    dim = kwargs.get("dim", kwargs.get("axis", rest[where] if len(rest) > where else None))
    if dim is None:
        return tensor.last and name in _LAST_BY_DEFAULT
    return _over_dims(tensor, dim)


def _over_dims(tensor: Tensor, dim: Value | None) -> bool:
    if dim is None:
        return False
    dims = (dim.items if dim.rest is None else ()) if isinstance(dim, Seq) else (dim,)
    if tensor.sizes is not None and tensor.axis is not None:
        same = (Const(tensor.axis), Const(tensor.axis - len(tensor.sizes)))
        return any(item in same for item in dims)
    return tensor.last and Const(-1) in dims


def whole_argument(interp: Interpreter, value: Value, node: ast.expr, taker: str) -> None:
    """An argument of a function enters a module that is not linear or takes whole values only: it is no partial sum."""
    if isinstance(value, Tensor) and value.state is State.UNKNOWN:
        name = argument_name(value)
        if name is not None and name not in interp.whole:
            interp.whole[name] = interp.step(
                node, tr("it enters %(taker)s, which needs a whole value", taker=taker)
            )


def argument_name(tensor: Tensor) -> str | None:
    """The name of the width of a forward argument that is still its own."""
    if tensor.width is None:
        return None
    name = str(tensor.width)
    return name if name.startswith("|") and tensor.width == Poly.atom(name) else None


def added(interp: Interpreter, partial: Tensor, other: Tensor, node: ast.expr) -> None:
    """A partial sum is added to another value; a whole one would be counted once a rank by the all-reduce."""
    known = known_whole(interp, other, node)
    if known is not None and not by_rank(interp):
        interp.emit(
            PartialMet,
            node,
            tensor=partial,
            other=known,
            how=tr("is added to a value that is whole on every rank"),
        )


def known_whole(interp: Interpreter, other: Tensor, node: ast.expr) -> Step | None:
    """Why an operand of `node` is whole on every rank: a layer made it so, or its argument went into one that asks."""
    if other.state is State.FULL:
        return other.why
    name = argument_name(other) if other.state is State.UNKNOWN else None
    is_itself = name is not None and name[1:].removesuffix(".width") in _names(node) | _kept(interp, node)
    return interp.whole.get(name) if is_itself and name is not None else None


def keeps_partial(interp: Interpreter, partial: Tensor, other: Value, node: ast.expr, additive: bool) -> bool:
    """Whether an operation with a partial sum gives one again: a sum of two, or a product with what all ranks share.

    Of an operand nothing is known of, a factor is taken for the same on every rank, and a summand for whole.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.FloorDiv | ast.Mod):
        return False
    if additive:
        made_empty = isinstance(other, Tensor) and other.role == "buffer"
        return (isinstance(other, Tensor) and other.state is State.PARTIAL) or made_empty or other == Const(0)
    if isinstance(other, Tensor) and other.state in (State.PARTIAL, State.SHARDED):
        return False
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    return not divides or _is_left(interp, partial, node)


def _is_left(interp: Interpreter, partial: Tensor, node: ast.expr) -> bool:
    """Whether the partial sum is what is divided, not what divides."""
    assert isinstance(node, ast.BinOp) and interp.frame is not None
    if isinstance(node.left, ast.Constant):
        return False
    value = interp.frame.vars.get(node.left.id) if isinstance(node.left, ast.Name) else None
    return value is None or (isinstance(value, Tensor) and value.state is State.PARTIAL)


def _names(node: ast.expr) -> set[str]:
    """The names an addition joins: what a kernel may have written into is no longer the argument."""
    parts: Sequence[ast.expr] = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
        parts = node.args[0].elts
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _kept(interp: Interpreter, node: ast.expr) -> set[str]:
    """What the names an addition joins were kept from: `residual = x`."""
    function = interp.frame.function if interp.frame is not None else None
    names = _names(node)
    return {
        part.value.id
        for part in (walk(function) if function is not None else ())
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Name)
        and isinstance(part.targets[0], ast.Name)
        and part.targets[0].id in names
    }


def by_rank(interp: Interpreter) -> bool:
    """Whether a condition in force asks for the rank: what one rank alone adds is right."""
    return any("rank" in key for key in (*interp.branch, *interp.choice))


def viewed(
    interp: Interpreter, tensor: Tensor, sizes: tuple[Value, ...], nodes: tuple[ast.expr, ...], node: ast.expr
) -> None:
    """`tensor.view(sizes)`"""
    if sizes and len(sizes) == len(nodes) and tensor.state in (State.SHARDED, State.FULL):
        interp.emit(Reshaped, node, tensor=tensor, sizes=sizes, nodes=nodes, equal=dict(interp.equal))


def split_by(interp: Interpreter, tensor: Tensor, given: Value, node: ast.expr) -> None:
    """`tensor.split([a, b], dim=-1)`: sizes that add up to the whole do not fit one rank's part."""
    if (
        tensor.state is not State.SHARDED
        or not tensor.last
        or tensor.width is None
        or not isinstance(given, Seq)
    ):
        return
    polys = [poly_of(size) for size in given.items]
    if given.rest is not None or not polys or None in polys:
        return
    total = Poly.number(0)
    for poly in polys:
        assert poly is not None
        total = total + poly
    if total.substituted(interp.equal) == tensor.width.substituted(interp.equal):
        interp.emit(SplitWhole, node, tensor=tensor)
