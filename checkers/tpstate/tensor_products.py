"""What joining, adding and multiplying tensors does to the TP state."""

from __future__ import annotations

import ast

from ..facts.nodes import as_code
from ..language import tr
from . import calls, dimensions, indexing, moves, parts, placements, token_sources, tokens
from .choices import Choice
from .events import BiasOnPartial, ShardedEscape
from .interpreter import Interpreter
from .parameter_events import ShardWeighted
from .states import State
from .symbols import Poly
from .values import PER_RANK, TP, UNKNOWN, Const, Kwargs, Pair, Sym, Tensor, Value

_MAX_OPEN = 3
"""So many operands of a `cat` are followed through both values of a condition."""


def operands_of(interp: Interpreter, given: Value, node: ast.expr) -> list[Value]:

    found = indexing.as_seq(interp, given)
    if found is None:
        return []
    items = [
        calls.as_tensor(interp, item, node, tr("it is joined with other tensors")) for item in found.items
    ]
    return items + ([found.rest] if found.rest is not None else [])


def joined_states(interp: Interpreter, parts: list[Value], node: ast.expr) -> Tensor:
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) == len(parts) and tensors and all(part.state is tensors[0].state for part in tensors):
        whys = [part.why for part in tensors if part.why is not None]
        return tensors[0].but(
            width=None,
            why=interp.step(node, tr("they are joined"), *whys) if whys else None,
            dims=None,
            sizes=None,
            axis=None,
        )
    return Tensor(State.UNKNOWN)


def concatenated(
    interp: Interpreter, given: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`torch.cat`: a full operand makes the result full; shards along the split dimension stay shards."""
    parts = operands_of(interp, given, node)
    if not parts:
        return UNKNOWN
    _note_tiled(interp, parts, rest, kwargs, node)
    if 0 < sum(isinstance(part, Choice) for part in parts) <= _MAX_OPEN:
        return interp.lift(lambda *leaves: _joined(interp, list(leaves), rest, kwargs, node), *parts)
    return _joined(interp, parts, rest, kwargs, node)


def _note_tiled(
    interp: Interpreter, parts: list[Value], rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> None:
    """`torch.cat([k] * n, dim=2)`: the same heads one block after another."""
    first = interp.settle(parts[0])
    again = isinstance(node, ast.Call) and bool(node.args) and isinstance(node.args[0], ast.BinOp)
    dim = kwargs.get("dim", rest[0] if rest else Const(0))
    if again and len(parts) == 1 and isinstance(first, Tensor) and first.sizes is not None:
        times: list[Value] = [Const(1)] * len(first.sizes)
        if isinstance(dim, Const) and isinstance(dim.value, int) and -len(times) <= dim.value < len(times):
            times[dim.value] = Const(2)
            placements.tiled(interp, first, tuple(times), node)


def _joined(
    interp: Interpreter, parts: list[Value], rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    held = tokens.of_joined(interp, parts, kwargs.get("dim", rest[0] if rest else Const(0)), node)
    return tokens.with_tokens(_concatenated(interp, parts, rest, kwargs, node), held)


def _concatenated(
    interp: Interpreter, parts: list[Value], rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    if len(parts) in (2, 3) and all(
        isinstance(part, Tensor) and part.tag in ("argument", "loaded") for part in parts
    ):
        return Tensor(State.UNKNOWN, role="cat of loaded", tag="loaded")
    if all(isinstance(part, Tensor) and part.role == "weight of layer" for part in parts):
        serials = " ".join(part.tag for part in parts if isinstance(part, Tensor))
        return Tensor(State.UNKNOWN, role="weight of layer", tag=serials)
    dim = kwargs.get("dim", kwargs.get("axis", rest[0] if rest else Const(0)))
    tensors = [part for part in parts if isinstance(part, Tensor)]
    states = {part.state for part in tensors}
    on_last = isinstance(dim, Const) and dim.value in (-1,)
    if not on_last:
        joined = joined_states(interp, parts, node)
        return joined.but(last=joined.last)
    whys = [part.why for part in tensors if part.why is not None]
    width = _sum_widths(tensors) if len(tensors) == len(parts) else None
    if State.FULL in states and State.SHARDED not in states and State.PARTIAL not in states:
        known = next(part for part in tensors if part.state is State.FULL)
        text = tr("joined on the last dimension with a full tensor, so the result is full")
        return Tensor(State.FULL, width=width, why=interp.step(node, text, known.why), role="cat")
    if states == {State.SHARDED} and len(tensors) == len(parts):
        text = tr("shards joined on the last dimension")
        return Tensor(
            State.SHARDED,
            width=width,
            last=all(p.last for p in tensors),
            why=interp.step(node, text, *whys),
            role="cat of shards",
        )
    argument = next(
        (p for p in tensors if placements.known_whole(interp, p, node) and p.state is State.UNKNOWN), None
    )
    if argument is not None and State.SHARDED in states:
        sharded = next(part for part in tensors if part.state is State.SHARDED)
        text = tr("joined on the last dimension with a full tensor: no split tensor any more")
        why = interp.step(node, text, sharded.why, placements.known_whole(interp, argument, node))
        return Tensor(State.UNKNOWN, why=why, role="mixed cat")
    if State.FULL in states and State.SHARDED in states:
        sharded = next(part for part in tensors if part.state is State.SHARDED)
        full = next(part for part in tensors if part.state is State.FULL)
        text = tr("joined on the last dimension with a full tensor: no split tensor any more")
        return Tensor(State.UNKNOWN, why=interp.step(node, text, sharded.why, full.why), role="mixed cat")
    return Tensor(State.UNKNOWN, width=width)


def _sum_widths(parts: list[Tensor]) -> Poly | None:
    total = Poly.number(0)
    for part in parts:
        if part.width is None:
            return None
        total = total + part.width
    return total


def select(interp: Interpreter, kept: Value, instead: Value, node: ast.expr) -> Value:
    """One of two values per element, chosen by a mask."""
    if not isinstance(kept, Tensor | Pair) and not isinstance(instead, Tensor | Pair):
        return UNKNOWN
    if isinstance(kept, Tensor) and kept.role == parts.PICK:
        return parts.masked(kept)
    partial = [side for side in (kept, instead) if isinstance(side, Tensor) and side.state is State.PARTIAL]
    if partial and not all(side in partial or side in (Const(0), Const(0.0)) for side in (kept, instead)):
        return Tensor(State.UNKNOWN)  # of some elements a part, of others the whole
    return partial[0] if partial else combine(interp, kept, instead, node, additive=False)


def combine(interp: Interpreter, left: Value, right: Value, node: ast.expr, additive: bool) -> Value:
    """Elementwise arithmetic of two values, one of them a tensor."""
    left = calls.as_tensor(interp, left, node, tr("it is an operand of arithmetic"))
    right = calls.as_tensor(interp, right, node, tr("it is an operand of arithmetic"))
    held = token_sources.of_positions(interp, left, right, node) or tokens.joined(
        interp, left, right, node, tr("an addition") if additive else tr("a product")
    )
    return tokens.with_tokens(_combined(interp, left, right, node, additive), held)


def _combined(interp: Interpreter, left: Value, right: Value, node: ast.expr, additive: bool) -> Value:
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        tensor = left if isinstance(left, Tensor) else right
        other = right if tensor is left else left
        if not isinstance(tensor, Tensor):
            return UNKNOWN
        if tensor.state is State.PARTIAL and not placements.keeps_partial(
            interp, tensor, other, node, additive
        ):
            return Tensor(State.UNKNOWN)
        if isinstance(other, Sym) and TP in other.tags and not additive:
            return tensor.but(role="")  # a share of a parameter: the ranks' shares add up to it
        if isinstance(other, Const | Sym):
            return parts.shifted(tensor, other)
        return _with_unknown(tensor, additive)
    dimensions.met(interp, left, right, node)
    return _two_tensors(interp, left, right, node, additive)


def _is_shared(tensor: Tensor) -> bool:
    """Whether a tensor is a parameter of the same few numbers on each rank."""
    sizes = tensor.dims if tensor.role == "parameter" else None
    return bool(sizes) and not any(isinstance(size, Sym) and PER_RANK in size.tags for size in sizes or ())


def _own_name(node: ast.expr) -> str:
    """The operand of an operation that is an attribute of the module."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return next((text for part in parts if (text := as_code(part)).startswith("self.")), "")


def _with_unknown(tensor: Tensor, additive: bool) -> Tensor:
    """Shapes must agree, so a split operand stays split; a full one may be broadcast, unless it was added."""
    if tensor.state is State.SHARDED:
        return tensor.but(dims=None)
    if tensor.state is State.FULL and (additive or tensor.width is not None) and not _narrow(tensor):
        return moves.used_whole(tensor).but(dims=None)
    return Tensor(State.UNKNOWN, why=tensor.why)


def _narrow(tensor: Tensor) -> bool:
    return tensor.width is not None and tensor.width.constant == 1


def _two_tensors(interp: Interpreter, left: Tensor, right: Tensor, node: ast.expr, additive: bool) -> Tensor:
    states = (left.state, right.state)
    placements.met_part(interp, left, right, node)
    parts.met(interp, left, right, node)
    if parts.PICK in (left.role, right.role) and not additive:
        return parts.masked(left if left.role == parts.PICK else right)  # by a mask
    if State.PARTIAL in states:
        partial, other = (left, right) if left.state is State.PARTIAL else (right, left)
        if additive and other.role in ("parameter", "bias of layer"):
            interp.emit(BiasOnPartial, node, tensor=partial)
        elif additive:
            placements.added(interp, partial, other, node)
        kept = placements.keeps_partial(interp, partial, other, node, additive)
        return partial.but(dims=None) if kept else Tensor(State.UNKNOWN)
    if State.UNKNOWN in states:
        known = left if right.state is State.UNKNOWN else right
        if known.state is State.UNKNOWN:
            return Tensor(State.UNKNOWN, width=left.width if left.width == right.width else None)
        other = right if known is left else left
        if known.state is State.FULL and (other.role == "parameter" or _narrow(other)):
            return known.but(dims=None)
        if known.state is State.SHARDED and _is_shared(other):
            interp.emit(ShardWeighted, node, tensor=known, name=_own_name(node))
        return _with_unknown(known, additive)
    if left.state is right.state:
        whys = [part.why for part in (left, right) if part.why is not None]
        why = (
            interp.step(node, "combined", *whys) if len(whys) == 2 and left.why is not right.why else left.why
        )
        wide = left if not _narrow(left) else right
        width = wide.width if left.width == right.width or _narrow(left) or _narrow(right) else None
        return Tensor(
            left.state,
            left.last and right.last,
            width,
            why,
            role=left.role if left.role == right.role else "",
            sizes=left.sizes if left.sizes is not None else right.sizes,
            axis=left.axis if left.sizes is not None else right.axis,
        )
    sharded, full = (left, right) if left.state is State.SHARDED else (right, left)
    if sharded.last and full.role in ("row", "linear", "cat", "gathered") and not _narrow(full):
        proven = full.width is not None and full.width == sharded.width
        interp.emit(
            ShardedEscape,
            node,
            tensor=sharded,
            other=full,
            consumer=tr("an addition with a full tensor") if additive else tr("a product with a full tensor"),
            proven=proven,
        )
    return Tensor(State.UNKNOWN, why=sharded.why)
