"""What tensor operations do to the TP state: methods, operators, indexing, torch functions."""

from __future__ import annotations

import ast
from typing import TypeGuard

from ..language import tr
from . import calls, dimensions, marks, operators, parts, placements, tensor_products, tokens
from .callables import TensorMethod
from .events import (
    Dropped,
    FusedLoad,
    ThirdsTaken,
)
from .interpreter import Interpreter
from .operators import ADDITIVE, ARITHMETIC, KEEP, MOVE, REDUCE, RESHAPE, SCALAR, SPLIT
from .states import State
from .symbols import Poly
from .values import PER_RANK, TP, UNKNOWN, Const, Heap, Kwargs, Seq, Sym, Tensor, Value, number, poly_of


def attribute(interp: Interpreter, tensor: Tensor, attr: str, node: ast.expr) -> Value:
    """`tensor.attr`"""
    if attr == "shape":
        return shape_of(interp, tensor)
    if attr in ("data", "grad", "real") or (attr == "values" and tensor.role == parts.PART):
        return tensor
    if attr in ("T", "mT", "H"):
        turned = tensor.dims[::-1] if tensor.role == "parameter" and tensor.dims is not None else None
        return moved(tensor).but(dims=turned)
    if attr in ("device", "dtype", "ndim", "is_cuda", "requires_grad", "layout", "sequence_parallel"):
        return Sym(Poly.atom(f"{tensor.tag or 'tensor'}.{attr}"))
    if tensor.tag == "argument" and attr not in operators.METHODS and not attr.endswith("_"):
        return Tensor(State.UNKNOWN, tag="argument")  # an object that carries tensors
    return TensorMethod(tensor, attr)


def shape_of(interp: Interpreter, tensor: Tensor) -> Value:
    """The sizes of a tensor: what is known of its last one, behind an unknown number of others."""
    if tensor.dims is not None:
        return Seq(tensor.dims)
    known = dimensions.shape(interp, tensor)
    if known is not None:
        return known
    return Tensor(
        tensor.state,
        tensor.last,
        tensor.width,
        tensor.why,
        role="shape",
        tag=tensor.tag,
        tokens=tensor.tokens,
    )


def last_size(interp: Interpreter, tensor: Tensor) -> Value:
    """The size of the last dimension on one rank."""
    if tensor.state is State.SHARDED and not tensor.last:
        return interp.fresh("size")
    if tensor.width is None:
        return interp.fresh("size", *((PER_RANK,) if tensor.state is State.SHARDED else ()))
    if tensor.state is State.SHARDED:
        share = tensor.width.floor_divided(Poly.atom("tp"))
        return Sym(share, frozenset({PER_RANK}))
    return number(tensor.width)


def unpacked(interp: Interpreter, tensor: Tensor, count: int) -> list[Value]:
    """`a, b, c = tensor` (or its shape)."""
    if tensor.role == "shape":
        sizes = [interp.fresh("size", *tokens.length(interp, tensor, at)) for at in range(count - 1)]
        return [*sizes, last_size(interp, tensor)]
    return [tensor.but(dims=None, sizes=None, axis=None)] * count


def _size(interp: Interpreter, tensor: Tensor, index: Value) -> Value:
    """`tensor.size(index)`"""
    at = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    known = dimensions.shape(interp, tensor)
    if known is not None and at is not None and -len(known.items) <= at < len(known.items):
        return known.items[at]
    if at is None or at == -1:
        return last_size(interp, tensor) if at == -1 else interp.fresh("size")
    return interp.fresh("size", *tokens.length(interp, tensor, at))


def indexed(interp: Interpreter, tensor: Tensor, index: Value, node: ast.Subscript) -> Value:
    """`tensor[index]`"""
    if tensor.role == "shape":
        if isinstance(index, Const) and index.value == -1:
            return last_size(interp, tensor)
        at = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
        return Seq((), UNKNOWN) if at is None else interp.fresh("size", *tokens.length(interp, tensor, at))
    marks.first_part(interp, tensor, index, node)
    if tensor.role in ("parameter", "buffer") and (kept := marks.indexed(tensor, index)) is not None:
        return tensor.but(dims=kept, width=None)
    tensor = tensor.but(sizes=None, axis=None, tokens=tokens.of_index(tensor, index))
    touches_last = _touches_last(index, node)
    if touches_last and tensor.state is State.SHARDED:
        return moved(tensor)
    return used_whole(tensor).but(width=None, dims=None) if touches_last else tensor.but(dims=None)


def _touches_last(index: Value, node: ast.Subscript) -> bool:
    """Whether an index may cut the last dimension: `[..., a:b]`, or as many parts as there may be dimensions."""
    where = node.slice
    if not isinstance(where, ast.Tuple) or not where.elts:
        return False
    final = where.elts[-1]
    if isinstance(final, ast.Slice) and final.lower is None and final.upper is None and final.step is None:
        return False
    has_ellipsis = any(isinstance(part, ast.Constant) and part.value is Ellipsis for part in where.elts)
    return (
        has_ellipsis and not (isinstance(final, ast.Constant) and final.value in (None, Ellipsis))
    ) or len(where.elts) >= 3


def moved(tensor: Tensor) -> Tensor:
    """Dimensions changed places: a split one may be anywhere now."""
    return used_whole(tensor).but(
        last=tensor.state is not State.SHARDED, width=None, dims=None, sizes=None, axis=None
    )


def used_whole(tensor: Tensor) -> Tensor:
    """The tensor after something that needs every channel at once: a gather before it was not for nothing."""
    return tensor.but(role="") if tensor.role == "gathered" else tensor


def method(
    interp: Interpreter, tensor: Tensor, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`tensor.name(...)`"""
    return function(interp, name, (tensor, *args), kwargs, node, is_method=True)


def function(
    interp: Interpreter,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    node: ast.expr,
    is_method: bool = False,
) -> Value:
    """A torch operation by its name, on values without alternatives in the first argument."""
    if not args:
        args = tuple(
            value for key, value in kwargs.items() if key in ("input", "x", "tensor", "self", "tensors")
        )[:1]
    if not args:
        return UNKNOWN
    if name in ("cat", "concat", "concatenate"):
        return interp.lift(
            lambda first: tensor_products.concatenated(interp, first, args[1:], kwargs, node), args[0]
        )
    if name in ("stack", "hstack", "vstack", "dstack"):
        found = tensor_products.operands_of(interp, args[0], node)
        return moved(tensor_products.joined_states(interp, found, node)) if found else UNKNOWN
    if name == "where" and len(args) == 3:
        kept, instead = (args[0], args[2]) if is_method else (args[1], args[2])
        return interp.lift(lambda a, b: tensor_products.select(interp, a, b, node), kept, instead)
    if name in ("matmul", "bmm", "mm", "baddbmm", "einsum", "addmm", "dot"):
        return tensor_products.product_of(interp, name, args, node)
    if name == "scaled_dot_product_attention":
        return interp.lift(lambda q: tensor_products.attention_of(interp, q, args[1:], node), args[0])
    if name == "linear" and not is_method:
        return interp.lift(
            lambda x: tensor_products.functional_linear(interp, x, args[1:], kwargs, node), args[0]
        )
    return interp.lift(lambda first: _on_first(interp, name, first, args[1:], kwargs, node), args[0])


def _on_first(
    interp: Interpreter, name: str, first: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    first = calls.as_tensor(interp, first, node, tr("it is passed to `%(name)s`", name=name))
    if not isinstance(first, Tensor):
        return UNKNOWN
    if first.role == "shape":
        return interp.fresh("size")
    result = _of_first(interp, name, first, rest, kwargs, node)
    if name.startswith("masked_fill") and rest:
        met = interp.lift(lambda mask: _masked(interp, first, mask, node), rest[0])
        return dimensions.carried(interp, name, first, rest, kwargs, result) if met is UNKNOWN else met
    result = dimensions.carried(interp, name, first, rest, kwargs, result)
    if name.rstrip("_") in ARITHMETIC:
        return result
    return tokens.carried(interp, name, first, rest, kwargs, result)


def _masked(interp: Interpreter, first: Tensor, mask: Value, node: ast.expr) -> Value:
    """A mask is as long as what it masks."""
    tokens.joined(interp, first, mask, node, tr("a mask"))
    return UNKNOWN


def _of_first(
    interp: Interpreter, name: str, first: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    if name == "size" or name == "shape":
        return _size(interp, first, rest[0]) if rest else shape_of(interp, first)
    if name in SCALAR:
        return interp.fresh(name)
    if placements.applied(interp, name, first, rest, kwargs, node):
        return Tensor(State.UNKNOWN)
    if name in ARITHMETIC or name.rstrip("_") in ARITHMETIC:
        if not rest:
            return first
        bare = name.rstrip("_")
        return interp.lift(
            lambda second: (
                Tensor(State.UNKNOWN)
                if isinstance(second, Tensor) and placements.applied(interp, bare, second, (), {}, node)
                else tensor_products.combine(interp, first, second, node, bare in ADDITIVE)
            ),
            rest[0],
        )
    if name == "copy_" and first.role == "weight of layer" and rest:
        loaded = interp.settle(rest[0])
        if isinstance(loaded, Tensor) and loaded.role in ("share of cat", "share of argument"):
            joined = loaded.role == "share of cat"
            interp.emit(FusedLoad, node, layer=interp.held[int(first.tag)], joined=joined)
        return first
    if name in ("softmax", "log_softmax", "roll", "flip", "cumsum"):
        return used_whole(first)
    if name == "dropout":
        interp.emit(Dropped, node, tensor=first)
    if name.startswith("masked_fill"):
        return parts.masked(first)
    if name in KEEP or (name.endswith("_") and name.rstrip("_") in KEEP):
        return first
    if name in RESHAPE:
        return _reshaped(interp, name, first, rest, kwargs, node)
    if name in SPLIT:
        return _divided(interp, name, first, rest, kwargs, node)
    if name == "dropout":
        interp.emit(Dropped, node, tensor=first)
    if name in ("gather", "take_along_dim"):
        looked = parts.picked(interp, first, rest, kwargs, node)
        if looked is not None:
            return looked
    if name.startswith("masked_fill"):
        return parts.masked(first)
    if name in MOVE:
        if name == "index_add" and len(rest) == 3 and isinstance(rest[2], Tensor):
            return rest[2].but(dims=None, sizes=None) if rest[2].state is State.PARTIAL else moved(first)
        if name == "narrow" and len(rest) == 3 and first.dims is not None and rest[1] == Const(0):
            at = rest[0].value if isinstance(rest[0], Const) else None
            if isinstance(at, int) and -len(first.dims) <= at < len(first.dims):
                marks.first_length(interp, first.dims[at], rest[2], node)
        if name == "narrow" and (cut := marks.narrowed(first, rest, kwargs)) is not None:
            return first.but(dims=cut, width=None)
        if name == "t" and first.role == "parameter" and first.dims is not None:
            return first.but(dims=first.dims[::-1], width=None)
        if name in ("repeat", "tile"):
            placements.tiled(interp, first, dimensions.listed(interp, rest) or (), node)
        return moved(first)
    if name in ("layer_norm", "rms_norm", "normalize", "group_norm"):
        return used_whole(first)
    if name in REDUCE:
        dim = kwargs.get("dim", rest[0] if rest else None)
        kept = kwargs.get("keepdim", rest[1] if len(rest) > 1 else Const(False))
        on_last = isinstance(dim, Const) and dim.value == -1
        narrow = on_last and isinstance(kept, Const) and kept.value is True
        width = Poly.number(1) if narrow else None
        part = placements.reduced_part(interp, first, name, rest, kwargs, width, node)
        return part or Tensor(State.UNKNOWN, width=width)
    if name in ("glu",):
        return first.but(width=None, last=False)
    if name in ("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"):
        return Tensor(State.UNKNOWN)
    return Tensor(State.UNKNOWN)


def _reshaped(
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
    return used_whole(tensor).but(width=None, dims=None)


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


def _divided(
    interp: Interpreter, name: str, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    given = rest[0] if rest else next(iter(kwargs.values()), UNKNOWN)
    dim = kwargs.get("dim", rest[1] if len(rest) > 1 else Const(-1 if name.startswith("split_tensor") else 0))
    on_last = isinstance(dim, Const) and dim.value in (-1, 2)
    if tensor.role == "cat of loaded" and isinstance(given, Sym) and TP in given.tags:
        return Seq((), tensor.but(role="share of cat"))
    if tensor.tag == "argument" and not tensor.role and isinstance(given, Sym) and TP in given.tags:
        return Seq((), tensor.but(role="share of argument"))
    if on_last and tensor.state is State.FULL and isinstance(given, Sym) and TP in given.tags:
        why = interp.step(node, tr("it is cut into one part per rank"), tensor.why)
        return Seq((), Tensor(State.SHARDED, width=tensor.width, why=why))
    if name == "unbind":
        return Seq((), moved(tensor))
    if isinstance(given, Heap):
        given = given.content
    if on_last and name in ("split", "split_with_sizes"):
        placements.split_by(interp, tensor, given, node)
        if tensor.state is State.SHARDED and tensor.last and _in_shares(given):
            interp.emit(ThirdsTaken, node, tensor=tensor, count=len(given.items))
    part = used_whole(tensor).but(dims=None)
    if not on_last:
        piece = moved(part) if tensor.state is State.SHARDED else part
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
