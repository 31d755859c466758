"""What matrix products, linear maps and attention do to the TP state."""

from __future__ import annotations

import ast

from ..language import tr
from . import calls, dimensions, layers, moves, placements, tokens
from .events import BiasOnPartial, Dropped, ShardedEscape
from .interpreter import Interpreter
from .parameter_events import RawColumn, WeightTaken
from .provider_table import COLUMN
from .states import State
from .symbols import Poly
from .token_events import TokensRaw
from .values import PER_RANK, UNKNOWN, Const, Kwargs, Obj, Pair, Sym, Tensor, Value, poly_of


def matmul(interp: Interpreter, left: Value, right: Value, node: ast.expr) -> Value:
    """`left @ right`: attention of per-rank heads stays per rank."""
    left = calls.as_tensor(interp, left, node, tr("it is an operand of a matrix product"))
    right = calls.as_tensor(interp, right, node, tr("it is an operand of a matrix product"))
    held = tokens.of_product(interp, left, right)
    if (
        isinstance(right, Tensor)
        and right.role == "parameter"
        and right.dims is not None
        and len(right.dims) == 2
    ):
        return tokens.with_tokens(_by_parameter(interp, left, right.dims[::-1], Const(None), node), held)
    return tokens.with_tokens(_multiplied(interp, left, right), held)


def _multiplied(interp: Interpreter, left: Value, right: Value) -> Value:
    if isinstance(left, Tensor) and not isinstance(right, Tensor):
        return dimensions.of_rows(left) or UNKNOWN
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    if left.state is right.state is State.SHARDED:
        return dimensions.of_product(
            Tensor(State.SHARDED, last=False, why=right.why or left.why), left, right
        )
    if left.state is right.state is State.FULL:
        return Tensor(State.FULL, why=left.why)
    known = left if left.state is State.SHARDED else right if right.state is State.SHARDED else None
    if known is not None and not known.last:
        return Tensor(State.SHARDED, last=False, why=known.why)
    return Tensor(State.UNKNOWN)


def product_of(interp: Interpreter, name: str, args: tuple[Value, ...], node: ast.expr) -> Value:
    operands = list(args)
    if name == "einsum":
        contracted = _by_equation(interp, args, node)
        if contracted is not None:
            return contracted
        operands = operands[1:]
        if len(operands) == 2 and isinstance(args[0], Const) and isinstance(args[0].value, str):
            text = args[0].value
            return interp.lift(lambda a, b: _summed(interp, text, a, b, node), operands[0], operands[1])
    if name in ("baddbmm", "addmm"):
        operands = operands[1:]
    if len(operands) < 2:
        return UNKNOWN
    return interp.lift(lambda a, b: matmul(interp, a, b, node), operands[0], operands[1])


def _summed(interp: Interpreter, text: str, left: Value, right: Value, node: ast.expr) -> Value:
    """`torch.einsum("thc,hdc->thd", q, w)`: a split dimension that the result has stays split."""
    if isinstance(left, Tensor | Pair) and isinstance(right, Tensor | Pair):
        return matmul(interp, left, right, node)
    return dimensions.of_letters(text, left, right) or UNKNOWN


def _by_equation(interp: Interpreter, args: tuple[Value, ...], node: ast.expr) -> Value | None:
    """`einsum("bsd,fd->bsf", x, w)`: a product with a parameter of two dimensions, one of them summed over."""
    weight = interp.settle(args[2]) if len(args) == 3 else UNKNOWN
    equation = args[0].value if args and isinstance(args[0], Const) else None
    if not isinstance(weight, Tensor) or weight.role != "parameter" or weight.dims is None:
        return None
    terms, _, result = str(equation).replace(" ", "").partition("->")
    _, _, letters = terms.partition(",")
    kept = [letter in result for letter in letters]
    if (
        len(weight.dims) != 2
        or len(letters) != 2
        or kept[0] == kept[1]
        or not result.endswith(letters[kept.index(True)])
    ):
        return UNKNOWN
    dims = weight.dims if kept[0] else weight.dims[::-1]
    return interp.lift(lambda given: _by_parameter(interp, given, dims, Const(None), node), args[1])


def attention_of(
    interp: Interpreter, query: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    for value in (query, *rest[:2]):
        calls.as_tensor(interp, value, node, tr("it is passed to `scaled_dot_product_attention`"))
    query = query.output if isinstance(query, Pair) else query
    rate = interp.settle(kwargs.get("dropout_p", Const(0)))
    if isinstance(query, Tensor) and not (isinstance(rate, Const) and not rate.value):
        interp.emit(Dropped, node, tensor=query)
    if isinstance(query, Tensor) and query.state is State.SHARDED:
        return moves.moved(query).but(sizes=query.sizes, axis=query.axis)
    value = interp.settle(rest[1]) if len(rest) > 1 else UNKNOWN
    if isinstance(value, Tensor) and value.state is not State.UNKNOWN:
        return moves.moved(value)
    return moves.moved(query) if isinstance(query, Tensor) else UNKNOWN


def functional_linear(
    interp: Interpreter, given: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`F.linear(x, weight, bias)`: a weight split on its input dimension gives partial sums."""
    given = calls.as_tensor(interp, given, node, tr("it is passed to `F.linear`"))
    held = given.tokens if isinstance(given, Tensor) else None
    weight = interp.settle(rest[0] if rest else kwargs.get("weight", UNKNOWN))
    own = tokens.holds(interp, held)
    if own is not None and own.held == tokens.OWN and own.key and _is_whole_parameter(weight):
        interp.emit(TokensRaw, node, tokens=own)
    return tokens.with_tokens(_functional_linear(interp, given, rest, kwargs, node), held)


def _functional_linear(
    interp: Interpreter, given: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    weight = interp.settle(rest[0] if rest else kwargs.get("weight", UNKNOWN))
    bias = interp.settle(rest[1] if len(rest) > 1 else kwargs.get("bias", Const(None)))
    if isinstance(weight, Tensor) and weight.role == "weight of layer":
        is_own = isinstance(bias, Tensor) and bias.role == "bias of layer" and bias.tag == weight.tag
        return bypass(interp, weight, node, has_bias=is_own and not placements.by_rank(interp))
    if not isinstance(weight, Tensor) or weight.dims is None or len(weight.dims) != 2:
        return Tensor(State.UNKNOWN)
    return _by_parameter(interp, given, weight.dims, bias, node)


def _by_parameter(
    interp: Interpreter, given: Value, dims: tuple[Value, ...], bias: Value, node: ast.expr
) -> Value:
    """A product with a parameter of a rank's own sizes, (outputs, inputs)."""
    out, taken = dims
    if isinstance(taken, Sym) and PER_RANK in taken.tags:
        why = interp.step(
            node, tr("the weight is split on its input dimension: each rank holds a partial sum")
        )
        result = Tensor(State.PARTIAL, width=poly_of(out), why=why)
        return interp.lift(lambda held: _with_bias(interp, result, held, node), bias)
    if isinstance(out, Sym) and PER_RANK in out.tags:
        why = interp.step(node, tr("the weight is split on its output dimension"))
        if isinstance(given, Tensor):
            interp.emit(RawColumn, node, tensor=given)
            _takes_whole(interp, given, taken, node)
        share = poly_of(out)
        return Tensor(State.SHARDED, why=why, width=share * Poly.atom("tp") if share is not None else None)
    if isinstance(given, Tensor):
        _takes_whole(interp, given, taken, node)
    return Tensor(State.UNKNOWN, width=poly_of(out))


def _with_bias(interp: Interpreter, partial: Tensor, bias: Value, node: ast.expr) -> Value:
    is_own = isinstance(bias, Tensor) and bias.role == "parameter" and not _is_zero_elsewhere(bias)
    if is_own and not placements.by_rank(interp):
        interp.emit(BiasOnPartial, node, tensor=partial)
    return partial


def bypass(interp: Interpreter, weight: Tensor, node: ast.expr, has_bias: bool = False) -> Tensor:
    """The weights of parallel layers multiplied without the layers: their collectives never run.

    The product with the shares of column-parallel weights is split like the output of their layers.
    """
    mark = f"bypass#{interp.fresh('').text}"
    held = [interp.held[int(serial)] for serial in weight.tag.split()]
    for layer in held:
        interp.emit(WeightTaken, node, layer=layer, mark=mark, has_bias=has_bias)
    if all(_splits(interp, layer) for layer in held):
        why = interp.step(
            node,
            tr(
                "its weight is of the column-parallel `%(held)s`: the result is split",
                held=layers.label(held[0]),
            ),
        )
        return Tensor(State.SHARDED, why=why, tag=mark)
    return Tensor(State.UNKNOWN, tag=mark)


def _splits(interp: Interpreter, layer: Obj) -> bool:
    row = layer.provider
    if row is None or row.kind != COLUMN:
        return False
    return layers.flag(interp, layer, "gather_output", row.gather) is False


def _is_zero_elsewhere(bias: Tensor) -> bool:
    return bool(bias.dims) and isinstance(bias.dims[-1], Sym) and PER_RANK in bias.dims[-1].tags  # type: ignore[index]


def _is_whole_parameter(weight: Value) -> bool:
    if not isinstance(weight, Tensor) or weight.role != "parameter" or weight.dims is None:
        return False
    return not any(isinstance(size, Sym) and PER_RANK in size.tags for size in weight.dims)


def _takes_whole(interp: Interpreter, given: Tensor, taken: Value, node: ast.expr) -> None:
    """A split value meets a weight that takes the whole dimension."""
    whole = given.width is not None and given.width == poly_of(taken)
    if given.state is State.SHARDED and given.last and whole:
        consumer = tr("a product with a weight for all channels")
        interp.emit(ShardedEscape, node, tensor=given, consumer=consumer, proven=True)
