"""Viewing a tensor with other sizes, and cutting it into parts."""

from __future__ import annotations

import ast
from typing import TypeGuard

from ..language import tr
from . import moves, placements
from .events import (
    ThirdsTaken,
)
from .interpreter import Interpreter
from .states import State
from .symbols import Poly
from .values import PER_RANK, TP, UNKNOWN, Const, Heap, Kwargs, Seq, Sym, Tensor, Value, poly_of


def reshaped(
    interp: Interpreter, name: str, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    sizes: tuple[Value, ...] = rest
    nodes: tuple[ast.expr, ...] = tuple(node.args) if isinstance(node, ast.Call) else ()
    if len(rest) == 1 and isinstance(rest[0], Seq | Heap):
        content = rest[0].content if isinstance(rest[0], Heap) else rest[0]
        sizes = content.items if isinstance(content, Seq) and content.rest is None else ()
        nodes = tuple(nodes[0].elts) if nodes and isinstance(nodes[0], ast.Tuple | ast.List) else ()
    if name in ("view", "reshape"):
        placements.viewed(interp, tensor, sizes, nodes, node)
    elif name == "unflatten" and tensor.last and len(rest) == 2 and rest[0] == Const(-1):
        _unflattened(interp, tensor, rest[1], node)
    last = poly_of(sizes[-1]) if sizes and name in ("view", "reshape") else None
    if name == "flatten" and tensor.last and _keeps_last(tensor, rest, kwargs):
        return tensor.but(dims=None)
    if tensor.state is State.SHARDED:
        share = isinstance(sizes[-1], Sym) and PER_RANK in sizes[-1].tags if sizes else False
        known = tensor.last and share and tensor.width is not None and last is not None
        same = known and _is_share(last, tensor.width, interp.equal)  # type: ignore[arg-type]
        return tensor.but(last=same, width=tensor.width if same else None, dims=None)
    if last is not None and last == tensor.width:
        return tensor.but(dims=None)
    if tensor.state is State.UNKNOWN and sizes and name in ("view", "reshape"):
        return by_size(interp, tensor, sizes[-1], node)
    return moves.used_whole(tensor).but(width=None, dims=None)


def _unflattened(interp: Interpreter, tensor: Tensor, given: Value, node: ast.expr) -> None:
    """`tensor.unflatten(-1, (heads, -1))`: a view of the last dimension alone."""
    content = given.content if isinstance(given, Heap) else given
    written = node.args[1] if isinstance(node, ast.Call) and len(node.args) == 2 else None
    if isinstance(content, Seq) and content.rest is None and isinstance(written, ast.Tuple | ast.List):
        placements.viewed(interp, tensor, content.items, tuple(written.elts), node)


def _in_shares(given: Value) -> TypeGuard[Seq]:
    """Whether something is cut into two or three sizes of one rank."""
    return (
        isinstance(given, Seq)
        and given.rest is None
        and len(given.items) in (2, 3)
        and all(isinstance(size, Sym) and PER_RANK in size.tags for size in given.items)
    )


def _keeps_last(tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs) -> bool:
    """Whether a `flatten` leaves the last dimension alone."""
    end = rest[1] if len(rest) > 1 else kwargs.get("end_dim", Const(-1))
    return isinstance(end, Const) and end.value in (-2, 0, 1)


def by_size(interp: Interpreter, tensor: Tensor, last: Value, node: ast.expr) -> Tensor:
    """A tensor of unknown type viewed with a last size per rank is one rank's part: the code says so."""
    if not (isinstance(last, Sym) and PER_RANK in last.tags):
        return tensor.but(width=None, dims=None)
    why = interp.step(node, tr("it is viewed with a size per rank, so it is split"))
    return Tensor(State.SHARDED, why=why)


def _is_share(share: Poly, width: Poly, known: dict[str, Poly]) -> bool:
    """Whether a per-rank size is this width divided by some TP size."""
    if len(share.terms) != 1 or len(share.terms[0][0]) != 1:
        return False
    atom = share.terms[0][0][0]
    return not isinstance(atom, str) and atom.top.substituted(known) == width.substituted(known)


def divided(
    interp: Interpreter, name: str, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    given = rest[0] if rest else next(iter(kwargs.values()), UNKNOWN)
    dim = kwargs.get("dim", rest[1] if len(rest) > 1 else Const(-1 if name.startswith("split_tensor") else 0))
    on_last = isinstance(dim, Const) and dim.value in (-1, 2)
    if tensor.role == "cat of shards" and on_last:
        tensor = tensor.but(role="")  # what was joined is taken apart again
    if tensor.role == "cat of loaded" and isinstance(given, Sym) and TP in given.tags:
        return Seq((), tensor.but(role="share of cat"))
    if tensor.tag == "argument" and not tensor.role and isinstance(given, Sym) and TP in given.tags:
        return Seq((), tensor.but(role="share of argument"))
    if on_last and tensor.state is State.FULL and isinstance(given, Sym) and TP in given.tags:
        why = interp.step(node, tr("it is cut into one part per rank"), tensor.why)
        return Seq((), Tensor(State.SHARDED, width=tensor.width, why=why))
    if name == "unbind":
        return Seq((), moves.moved(tensor))
    if isinstance(given, Heap):
        given = given.content
    if on_last and name in ("split", "split_with_sizes"):
        placements.split_by(interp, tensor, given, node)
        if tensor.state is State.SHARDED and tensor.last and _in_shares(given):
            interp.emit(ThirdsTaken, node, tensor=tensor, count=len(given.items))
    part = moves.used_whole(tensor).but(dims=None)
    if not on_last:
        piece = moves.moved(part) if tensor.state is State.SHARDED else part
        if not (isinstance(dim, Const) and isinstance(dim.value, int) and (dim.value == 0 or dim.value < -1)):
            piece = piece.but(width=None)  # axis 1 is the last one of a matrix
        counted = (
            name in ("chunk", "tensor_split") and isinstance(given, Const) and given.value in range(1, 65)
        )
        return Seq((piece,) * given.value) if counted and isinstance(given, Const) else Seq((), piece)
    if (
        name in ("chunk", "tensor_split", "split_tensor_along_last_dim")
        and isinstance(given, Const)
        and isinstance(given.value, int)
        and 0 < given.value <= 64
    ):
        count = given.value
        if tensor.state is State.SHARDED and tensor.last:
            interp.emit(ThirdsTaken, node, tensor=tensor, count=count)
        width = tensor.width.divided(Poly.number(count)) if tensor.width is not None else None
        return Seq((part.but(width=width),) * count)
    if name == "split" and isinstance(given, Seq) and given.rest is None:
        return Seq(
            tuple(
                part.but(width=None if tensor.state is State.SHARDED else poly_of(size))
                for size in given.items
            )
        )
    return Seq((), part.but(width=None))
