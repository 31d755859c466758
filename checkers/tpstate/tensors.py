"""What tensor operations do to the TP state: methods, operators, indexing, torch functions."""

from __future__ import annotations

import ast

from ..language import tr
from . import (
    buffers,
    calls,
    dimensions,
    marks,
    matrix_products,
    moves,
    operators,
    parts,
    placements,
    reshaping,
    tensor_products,
    tokens,
)
from .callables import TensorMethod
from .events import Dropped
from .interpreter import Interpreter
from .operators import ADDITIVE, ARITHMETIC, KEEP, MOVE, REDUCE, RESHAPE, SCALAR, SPLIT
from .parameter_events import FusedLoad
from .states import State
from .symbols import Poly
from .values import NONE, PER_RANK, UNKNOWN, Const, Kwargs, Seq, Slice, Sym, Tensor, Value, number

_WHOLE = frozenset("softmax log_softmax roll flip cumsum layer_norm rms_norm normalize group_norm".split())
"""What needs every channel at once and leaves them where they are."""


def attribute(interp: Interpreter, tensor: Tensor, attr: str, node: ast.expr) -> Value:
    """`tensor.attr`"""
    if attr == "shape":
        return shape_of(interp, tensor)
    if attr in ("data", "grad", "real") or (attr == "values" and tensor.role == parts.PART):
        return tensor
    if attr in ("T", "mT", "H"):
        turned = tensor.dims[::-1] if tensor.role == "parameter" and tensor.dims is not None else None
        return moves.moved(tensor).but(dims=turned)
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
        if isinstance(index, Slice):
            return _first_sizes(interp, tensor, index)
        return Seq((), UNKNOWN) if at is None else interp.fresh("size", *tokens.length(interp, tensor, at))
    marks.first_part(interp, tensor, index, node)
    if tensor.role in ("parameter", "buffer") and (kept := marks.indexed(tensor, index)) is not None:
        return tensor.but(dims=kept, width=None)
    tensor = tensor.but(sizes=None, axis=None, tokens=tokens.of_index(tensor, index))
    touches_last = _touches_last(index, node)
    if touches_last and tensor.state is State.SHARDED:
        return moves.moved(tensor)
    return moves.used_whole(tensor).but(width=None, dims=None) if touches_last else tensor.but(dims=None)


def _first_sizes(interp: Interpreter, tensor: Tensor, index: Slice) -> Seq:
    """`x.shape[:2]`: so many sizes from the front, where that is told."""
    count = index.upper.value if isinstance(index.upper, Const) else None
    if (
        index.lower not in (NONE, Const(0))
        or index.step != NONE
        or type(count) is not int
        or not 0 < count < 8
    ):
        return Seq((), UNKNOWN)
    return Seq(tuple(interp.fresh("size", *tokens.length(interp, tensor, at)) for at in range(count)))


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


def method(
    interp: Interpreter, tensor: Tensor, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`tensor.name(...)`"""
    if name.startswith("new_") and args:
        sizes = dimensions.listed(interp, args[:1] if name == "new_full" else args) or ()
        dims = tuple(size if isinstance(size, Const | Sym) else UNKNOWN for size in sizes)
        return buffers.made(interp, dims, node)
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
        return moves.moved(tensor_products.joined_states(interp, found, node)) if found else UNKNOWN
    if name == "where" and len(args) == 3:
        kept, instead = (args[0], args[2]) if is_method else (args[1], args[2])
        return interp.lift(lambda a, b: tensor_products.select(interp, a, b, node), kept, instead)
    if name in ("matmul", "bmm", "mm", "baddbmm", "einsum", "addmm", "dot"):
        return matrix_products.product_of(interp, name, args, node)
    if name == "scaled_dot_product_attention":
        return interp.lift(lambda q: matrix_products.attention_of(interp, q, args[1:], kwargs, node), args[0])
    if name == "linear" and not is_method:
        return interp.lift(
            lambda x: matrix_products.functional_linear(interp, x, args[1:], kwargs, node), args[0]
        )
    return interp.lift(lambda first: _on_first(interp, name, first, args[1:], kwargs, node), args[0])


def _on_first(
    interp: Interpreter, name: str, first: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    if type(first) is not Tensor:
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
    if name in _WHOLE:
        return moves.used_whole(first)
    if name == "dropout":
        interp.emit(Dropped, node, tensor=first)
    if name.startswith("masked_fill"):
        return parts.masked(first)
    if name in KEEP or (name.endswith("_") and name.rstrip("_") in KEEP):
        return first
    if name in RESHAPE:
        return reshaping.reshaped(interp, name, first, rest, kwargs, node)
    if name in SPLIT:
        return reshaping.divided(interp, name, first, rest, kwargs, node)
    if name in ("gather", "take_along_dim"):
        looked = parts.picked(interp, first, rest, kwargs, node)
        if looked is not None:
            return looked
    if name in MOVE:
        return _moved_by(interp, name, first, rest, kwargs, node)
    if name in REDUCE:
        return _reduced(interp, name, first, rest, kwargs, node)
    if name == "glu":
        return first.but(width=None, last=False)
    return Tensor(State.UNKNOWN)


def _moved_by(
    interp: Interpreter, name: str, first: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """The same numbers at other places."""
    if name == "index_add" and len(rest) == 3 and isinstance(rest[2], Tensor):
        return rest[2].but(dims=None, sizes=None) if rest[2].state is State.PARTIAL else moves.moved(first)
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
    return moves.moved(first)


def _reduced(
    interp: Interpreter, name: str, first: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Sums, means and the like over a dimension."""
    dim = kwargs.get("dim", rest[0] if rest else None)
    kept = kwargs.get("keepdim", rest[1] if len(rest) > 1 else Const(False))
    on_last = isinstance(dim, Const) and dim.value == -1
    narrow = on_last and isinstance(kept, Const) and kept.value is True
    width = Poly.number(1) if narrow else None
    part = placements.reduced_part(interp, first, name, rest, kwargs, width, node)
    return part or Tensor(State.UNKNOWN, width=width)
