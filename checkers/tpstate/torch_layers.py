"""Modules of torch.nn, by what they do to a state."""

from __future__ import annotations

import ast
import re

from ..language import tr
from . import calls, indexing, layers, moves, placements, tensor_products, token_sources, tokens
from .events import BiasOnPartial, Dropped, ShardedEscape
from .interpreter import Interpreter
from .parameter_events import ShardWeighted
from .states import State
from .symbols import Poly
from .values import PER_RANK, UNKNOWN, Const, Kwargs, Obj, Pair, Seq, Sym, Tensor, Value, poly_of

_KEEPS = frozenset(
    {
        "GELU",
        "ReLU",
        "SiLU",
        "LeakyReLU",
        "ELU",
        "Tanh",
        "Sigmoid",
        "Dropout",
        "Dropout1d",
        "Dropout2d",
        "Dropout3d",
        "Identity",
        "Softplus",
        "Mish",
        "Hardswish",
        "PReLU",
        "ReLU6",
        "Softmax",
        "DropPath",
        "AlphaDropout",
        "LogSoftmax",
    }
)

_FUNCTION_OF = {
    name: name.lower()
    for name in ("GELU", "ReLU", "SiLU", "ELU", "Tanh", "Sigmoid", "Softplus", "Mish", "Softmax")
} | {"LogSoftmax": "log_softmax"}

_NORMS = frozenset(
    {"LayerNorm", "RMSNorm", "BatchNorm1d", "GroupNorm", "FusedLayerNorm", "MixedFusedLayerNorm"}
)

_LINEAR = frozenset({"Linear", "Bilinear"})

_CONV = frozenset({"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"})


_ENGINE_NORM = re.compile(r"(vllm|sglang)\..*\.(Gemma)?RMSNorm|vllm\..*\.LayerNorm")


_ENGINE_GATE = re.compile(r"(vllm|sglang)\..*\.(SiluAndMul|GeluAndMul|MulAndSilu)")


def _gated(interp: Interpreter, given: Value, node: ast.expr) -> Value:
    """The gate of an inference engine: one half of each rank's channels times the activation of the other."""
    value = calls.as_tensor(interp, given, node, tr("it is passed to `%(name)s`", name="SiluAndMul"))
    return value.but(width=None, dims=None, sizes=None, role="") if isinstance(value, Tensor) else UNKNOWN


def _engine_norm(interp: Interpreter, obj: Obj, args: tuple[Value, ...], node: ast.expr) -> Value:
    """The norm of an inference engine: with a residual it returns the norm of the sum, and the sum."""
    if len(args) == 1:
        return interp.lift(lambda value: _call_torch(interp, obj, "RMSNorm", value, node), args[0])

    def both(value: Value, residual: Value) -> Value:
        total = tensor_products.combine(interp, value, residual, node, additive=True)
        return Seq((_call_torch(interp, obj, "RMSNorm", total, node), total))

    return interp.lift(both, args[0], args[1])


def call_external(
    interp: Interpreter, obj: Obj, dotted: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Call a module of a library, or of a class that runs its forward; `dotted` names it."""
    content = obj.attrs.get("content")
    if content is not None:
        return _run_children(interp, obj, interp.settle(content), args, node)
    last = dotted.rsplit(".", 1)[-1]
    first = args[0] if args else next(iter(kwargs.values()), UNKNOWN)
    if last == "Identity":
        return first
    if last == "MultiheadAttention":
        why = interp.step(
            node, tr("`%(obj)s` is nn.MultiheadAttention: its output is full", obj=layers.label(obj))
        )
        return Seq((Tensor(State.FULL, width=poly_of(_argument(obj, 0, "embed_dim")), why=why), UNKNOWN))
    if last == "Embedding" and dotted.startswith("torch."):
        why = interp.step(node, tr("`%(obj)s` is nn.Embedding: its output is full", obj=layers.label(obj)))
        return Tensor(State.FULL, width=poly_of(_argument(obj, 1, "embedding_dim")), why=why)
    if _ENGINE_NORM.fullmatch(dotted) and args:
        return _engine_norm(interp, obj, args, node)
    known = last in _KEEPS or last in _NORMS or last in _LINEAR or last in _CONV
    if not known or not dotted.startswith("torch."):
        keeps = last in _KEEPS or last in _NORMS
        return interp.lift(
            lambda value: (
                _keep(interp, obj, value, node)
                if keeps
                else calls.unknown_call(interp, UNKNOWN, (value,), node)
                if not _ENGINE_GATE.fullmatch(dotted)
                else _gated(interp, value, node)
            ),
            first,
        )
    return interp.lift(
        lambda value: _with_tokens(interp, obj, value, _call_torch(interp, obj, last, value, node), node),
        first,
    )


def _with_tokens(interp: Interpreter, obj: Obj, given: Value, result: Value, node: ast.expr) -> Value:
    """A layer of torch works on the tokens that it is given."""
    given = given.output if isinstance(given, Pair) else given
    token_sources.note_unmarked(interp, obj, (given,), node)
    return tokens.with_tokens(result, given.tokens) if isinstance(given, Tensor) else result


def _keep(interp: Interpreter, obj: Obj, value: Value, node: ast.expr) -> Value:
    value = calls.as_tensor(interp, value, node, tr("it is passed to `%(obj)s`", obj=layers.label(obj)))
    return value if isinstance(value, Tensor) else UNKNOWN


def _argument(obj: Obj, index: int, name: str) -> Value:
    return obj.args.get(name, obj.args.get(str(index), UNKNOWN))


def _call_torch(interp: Interpreter, obj: Obj, last: str, value: Value, node: ast.expr) -> Value:
    value = calls.as_tensor(interp, value, node, tr("it is passed to `%(obj)s`", obj=layers.label(obj)))
    if last in _KEEPS:
        if not isinstance(value, Tensor):
            return UNKNOWN
        if last == "Dropout":
            interp.emit(Dropped, node, tensor=value)
        placements.applied(interp, _FUNCTION_OF.get(last, ""), value, (_argument(obj, 0, "dim"),), {}, node)
        return moves.used_whole(value) if "Softmax" in last else value
    if last in _NORMS:
        return _normalised(interp, obj, value, node)
    if last in _CONV:
        return _convolved(interp, obj, value, node)
    return _linear(interp, obj, value, node)


def _normalised(interp: Interpreter, obj: Obj, value: Value, node: ast.expr) -> Value:
    shape = _argument(obj, 0, "normalized_shape")
    items = indexing.as_seq(interp, shape)
    sized = poly_of(items.items[-1] if items is not None and items.items else shape)
    if not isinstance(value, Tensor) or value.state is State.UNKNOWN:
        if isinstance(value, Tensor):
            layers.learn_width(interp, value, sized)
            placements.whole_argument(interp, value, node, f"`{layers.label(obj)}`")
        if sized is None or per_rank(items.items[-1] if items is not None and items.items else shape):
            return value if isinstance(value, Tensor) else Tensor(State.UNKNOWN)
        text = tr(
            "`%(obj)s` is a norm over %(sized)s: its output has this many channels on each rank",
            obj=layers.label(obj),
            sized=sized,
        )
        return Tensor(State.UNKNOWN, width=sized, why=interp.step(node, text), role="measured")
    layers.learn_width(interp, value, sized)
    placements.whole_argument(interp, value, node, f"`{layers.label(obj)}`")
    placements.applied(interp, "group_norm", value, (), {}, node)
    value = moves.used_whole(value)
    if (
        value.state is State.SHARDED
        and not value.last
        and _argument(obj, 2, "elementwise_affine") != Const(False)
    ):
        interp.emit(ShardWeighted, node, tensor=value, name=f"self.{layers.label(obj)}")
    if value.state is State.SHARDED and value.last:
        meets_full(interp, obj, value, sized, per_rank(shape), node)
        return value
    return (
        value
        if value.width is not None or sized is None or value.state is State.SHARDED
        else value.but(width=sized)
    )


def _convolved(interp: Interpreter, obj: Obj, value: Value, node: ast.expr) -> Value:
    """A convolution, whose channels are whole where its own are: what is not known of the input is not of them."""
    if isinstance(value, Tensor) and value.state is not State.UNKNOWN:
        return value.but(width=None)
    channels = (_argument(obj, 0, "in_channels"), _argument(obj, 1, "out_channels"))
    if any(poly_of(count) is None or per_rank(count) for count in channels):
        return value.but(width=None) if isinstance(value, Tensor) else UNKNOWN
    why = interp.step(node, tr("`%(obj)s` is a convolution: it holds all channels", obj=layers.label(obj)))
    return Tensor(State.FULL, why=why)


def _linear(interp: Interpreter, obj: Obj, value: Value, node: ast.expr) -> Value:
    takes, gives = _argument(obj, 0, "in_features"), _argument(obj, 1, "out_features")
    width = poly_of(gives)
    layers.learn_width(interp, value, poly_of(takes))
    if per_rank(takes) and not per_rank(gives) and not _is_cut(value):
        return _partial(interp, obj, width, node)
    if isinstance(value, Tensor) and value.state is State.SHARDED:
        if value.last:
            meets_full(interp, obj, value, poly_of(takes), per_rank(takes), node)
        return Tensor(State.UNKNOWN, width=width)
    if per_rank(gives) and not per_rank(takes) and _is_whole(value):
        share = poly_of(gives)
        why = interp.step(
            node, tr("`%(obj)s` is sized for one rank's part of the outputs", obj=layers.label(obj))
        )
        return Tensor(State.SHARDED, width=share * Poly.atom("tp") if share is not None else None, why=why)
    if (
        isinstance(value, Tensor)
        and value.state is State.PARTIAL
        and _argument(obj, 2, "bias") == Const(False)
    ):
        return value.but(width=width, dims=None)
    if per_rank(gives) or per_rank(takes) or (isinstance(value, Tensor) and value.state is State.PARTIAL):
        return Tensor(State.UNKNOWN, width=width)
    why = interp.step(node, tr("`%(obj)s` is nn.Linear: its output is full", obj=layers.label(obj)))
    return Tensor(State.FULL, width=width, why=why, role="linear")


def _is_cut(value: Value) -> bool:
    """Whether a value was cut along another dimension than its last."""
    return isinstance(value, Tensor) and value.state is State.SHARDED and not value.last


def _is_whole(value: Value) -> bool:
    return isinstance(value, Tensor) and value.state in (State.FULL, State.UNKNOWN)


def _partial(interp: Interpreter, obj: Obj, width: Poly | None, node: ast.expr) -> Value:
    """What a linear layer sized for one rank's part of the inputs returns: a summand; each rank adds its bias."""
    why = interp.step(
        node,
        tr("`%(obj)s` takes one rank's part of the inputs: it returns a partial sum", obj=layers.label(obj)),
    )
    result = Tensor(State.PARTIAL, width=width, why=why)
    told = obj.args.get("bias", obj.args.get("2"))
    if told is None or told == Const(True):
        interp.emit(BiasOnPartial, node, tensor=result)
    return result


def per_rank(value: Value) -> bool:
    return isinstance(value, Sym) and PER_RANK in value.tags


def meets_full(
    interp: Interpreter, obj: Obj, value: Tensor, sized: Poly | None, per_rank: bool, node: ast.expr
) -> None:
    """A split value reaches a module with weights: wrong where those are sized for the whole dimension."""
    proven = not per_rank and sized is not None and value.width is not None and sized == value.width
    if per_rank:
        return
    kind = obj.cls.dotted.rsplit(".", 1)[-1]
    interp.emit(
        ShardedEscape,
        node,
        tensor=value,
        consumer=f"`{layers.label(obj)}` (nn.{kind})",
        proven=proven,
        layer=obj,
    )


def meets_replicated(
    interp: Interpreter, obj: Obj, value: Tensor, takes: Poly | None, node: ast.expr
) -> None:
    """A split value reaches a linear layer that every rank holds for all channels."""
    if (
        value.last
        and takes is not None
        and takes == value.width
        and not per_rank(next(iter(obj.args.values()), UNKNOWN))
    ):
        consumer = tr("`%(obj)s`, a replicated linear layer", obj=layers.label(obj))
        interp.emit(ShardedEscape, node, tensor=value, consumer=consumer, proven=True, layer=obj)


def _run_children(
    interp: Interpreter, obj: Obj, content: Value, args: tuple[Value, ...], node: ast.expr
) -> Value:
    last = obj.cls.dotted.rsplit(".", 1)[-1]
    if not isinstance(content, Seq) or not args or (last not in ("Sequential",) and obj.cls.facts is None):
        return UNKNOWN
    value = args[0]
    for child in content.sample():
        if isinstance(child, Obj) and not child.name:
            child.name = f"{obj.name}[{child.cls.dotted.rsplit('.', 1)[-1]}]" if obj.name else ""
        value = calls.call(interp, child, (value,), {}, node)
    return value
