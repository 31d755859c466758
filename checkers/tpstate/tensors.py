"""What tensor operations do to the TP state: methods, operators, indexing, torch functions."""

from __future__ import annotations

import ast

from . import calls
from .events import BiasOnPartial, FusedLoad, LossOnGathered, Reshaped, ShardedEscape, ThirdsTaken, WeightTaken
from .interpreter import Interpreter
from .symbols import Poly
from .values import (
    PER_RANK,
    TP,
    UNKNOWN,
    Const,
    Heap,
    Pair,
    Seq,
    State,
    Sym,
    Tensor,
    TensorMethod,
    Value,
    number,
    poly_of,
)

Kwargs = dict[str, Value]

KEEP = frozenset(
    """abs add_ clamp clip clone contiguous cpu cuda detach detach_ double dropout dropout_ elu exp float gelu half
    bfloat16 leaky_relu log masked_fill masked_fill_ mul_ neg pow relu relu_ requires_grad_ rsqrt sigmoid silu sin cos
    softmax log_softmax softplus sqrt square sub_ tanh tanh_ to type type_as nan_to_num erf mish hardswish glu_ identity
    copy_ fill_ zero_ div_ where_ pin_memory retain_grad sign roll flip tril triu float_ int long bool round alpha_dropout
    normalize_ hardtanh selu celu logsigmoid stop_gradient index_select_ ones_like zeros_like empty_like rand_like
    randn_like full_like make_viewless_tensor make_viewless masked_scatter narrow_ cumsum""".split()
)
RESHAPE = frozenset("view reshape unflatten view_as reshape_as flatten".split())
MOVE = frozenset(
    """permute transpose transpose_ t swapaxes movedim moveaxis unsqueeze unsqueeze_ squeeze squeeze_ expand expand_as
    repeat repeat_interleave rearrange einops_rearrange pad gather index_select scatter scatter_ scatter_add take_along_dim
    unfold as_strided broadcast_to tile select narrow mT T index_copy masked_select index_add rot90""".split()
)
SPLIT = frozenset("chunk split unbind tensor_split split_with_sizes split_tensor_along_last_dim".split())
REDUCE = frozenset("sum mean max min amax amin norm std var prod argmax argmin any all topk sort logsumexp".split())
ARITHMETIC = frozenset("add sub mul div true_divide subtract multiply maximum minimum".split())
ADDITIVE = frozenset("add sub subtract".split())
SCALAR = frozenset("item tolist numel dim size stride element_size data_ptr nelement ndimension get_device".split())
_METHODS = KEEP | RESHAPE | MOVE | SPLIT | REDUCE | ARITHMETIC | SCALAR | {"matmul", "bmm", "mm", "unbind", "size", "new_zeros"}


def attribute(interp: Interpreter, tensor: Tensor, attr: str, node: ast.expr) -> Value:
    """`tensor.attr`"""
    if attr == "shape":
        return shape_of(interp, tensor)
    if attr in ("data", "grad", "real"):
        return tensor
    if attr in ("T", "mT", "H"):
        return moved(tensor)
    if attr in ("device", "dtype", "ndim", "is_cuda", "requires_grad", "layout", "sequence_parallel"):
        return Sym(Poly.atom(f"{tensor.tag or 'tensor'}.{attr}"))
    if tensor.tag == "argument" and attr not in _METHODS and not attr.endswith("_"):
        return Tensor(State.UNKNOWN, tag="argument")  # an object that carries tensors
    return TensorMethod(tensor, attr)


def shape_of(interp: Interpreter, tensor: Tensor) -> Value:
    """The sizes of a tensor: what is known of its last one, behind an unknown number of others."""
    if tensor.dims is not None:
        return Seq(tensor.dims)
    return Tensor(tensor.state, tensor.last, tensor.width, tensor.why, role="shape", tag=tensor.tag)


def last_size(interp: Interpreter, tensor: Tensor) -> Value:
    """The size of the last dimension on one rank."""
    if tensor.width is None:
        return interp.fresh("size", *((PER_RANK,) if tensor.state is State.SHARDED else ()))
    if tensor.state is State.SHARDED:
        share = tensor.width.floor_divided(Poly.atom("tp"))
        return Sym(share, frozenset({PER_RANK}))
    return number(tensor.width)


def unpacked(interp: Interpreter, tensor: Tensor, count: int) -> list[Value]:
    """`a, b, c = tensor` (or its shape)."""
    if tensor.role == "shape":
        return [*(interp.fresh("size") for _ in range(count - 1)), last_size(interp, tensor)]
    return [tensor.but(last=tensor.last, dims=None)] * count


def indexed(interp: Interpreter, tensor: Tensor, index: Value, node: ast.Subscript) -> Value:
    """`tensor[index]`"""
    if tensor.role == "shape":
        if isinstance(index, Const) and index.value == -1:
            return last_size(interp, tensor)
        return interp.fresh("size") if isinstance(index, Const) else Seq((), UNKNOWN)
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
    return has_ellipsis and not (isinstance(final, ast.Constant) and final.value in (None, Ellipsis)) or len(where.elts) >= 3


def moved(tensor: Tensor) -> Tensor:
    """Dimensions changed places: a split one may be anywhere now."""
    return used_whole(tensor).but(last=tensor.state is not State.SHARDED, width=None, dims=None)


def used_whole(tensor: Tensor) -> Tensor:
    """The tensor after something that needs every channel at once: a gather before it was not for nothing."""
    return tensor.but(role="") if tensor.role == "gathered" else tensor


def method(interp: Interpreter, tensor: Tensor, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """`tensor.name(...)`"""
    return function(interp, name, (tensor, *args), kwargs, node, is_method=True)


def function(
    interp: Interpreter, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr, is_method: bool = False
) -> Value:
    """A torch operation by its name, on values without alternatives in the first argument."""
    if not args:
        args = tuple(value for key, value in kwargs.items() if key in ("input", "x", "tensor", "self", "tensors"))[:1]
    if not args:
        return UNKNOWN
    if name in ("cat", "concat", "concatenate"):
        return interp.lift(lambda first: concatenated(interp, first, args[1:], kwargs, node), args[0])
    if name in ("stack", "hstack", "vstack", "dstack"):
        found = _parts(interp, args[0], node)
        return moved(_join_states(interp, found, node)) if found else UNKNOWN
    if name == "where" and len(args) == 3:
        kept, instead = (args[0], args[2]) if is_method else (args[1], args[2])
        return interp.lift(lambda a, b: _where(interp, a, b, node), kept, instead)
    if name in ("matmul", "bmm", "mm", "baddbmm", "einsum", "addmm", "dot"):
        return _product(interp, name, args, node)
    if name == "scaled_dot_product_attention":
        return interp.lift(lambda q: _attention(interp, q, args[1:], node), args[0])
    if name == "linear" and not is_method:
        return interp.lift(lambda x: functional_linear(interp, x, args[1:], kwargs, node), args[0])
    return interp.lift(lambda first: _on_first(interp, name, first, args[1:], kwargs, node), args[0])


def _on_first(
    interp: Interpreter, name: str, first: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    first = calls.as_tensor(interp, first, node, f"it is passed to `{name}`")
    if not isinstance(first, Tensor):
        return UNKNOWN
    if first.role == "shape":
        return interp.fresh("size")
    if name == "size" or name == "shape":
        if not rest:
            return shape_of(interp, first)
        return last_size(interp, first) if isinstance(rest[0], Const) and rest[0].value == -1 else interp.fresh("size")
    if name in SCALAR:
        return interp.fresh(name)
    if name in ARITHMETIC or name.rstrip("_") in ARITHMETIC:
        if not rest:
            return first
        additive = name.rstrip("_") in ADDITIVE
        return interp.lift(lambda second: combine(interp, first, second, node, additive), rest[0])
    if name == "copy_" and first.role == "weight of layer" and rest:
        loaded = interp.settle(rest[0])
        if isinstance(loaded, Tensor) and loaded.role == "share of cat":
            interp.emit(FusedLoad, node, layer=interp.held[int(first.tag)])
        return first
    if name in ("softmax", "log_softmax", "roll", "flip", "cumsum"):
        return used_whole(first)
    if name in KEEP or name.endswith("_") and name.rstrip("_") in KEEP:
        return first
    if name in RESHAPE:
        return _reshaped(interp, name, first, rest, kwargs, node)
    if name in SPLIT:
        return _divided(interp, name, first, rest, kwargs, node)
    if name in MOVE:
        return moved(first)
    if name in ("layer_norm", "rms_norm", "normalize", "group_norm"):
        return used_whole(first)
    if name in REDUCE:
        dim = kwargs.get("dim", rest[0] if rest else None)
        kept = kwargs.get("keepdim", rest[1] if len(rest) > 1 else Const(False))
        on_last = isinstance(dim, Const) and dim.value == -1
        narrow = on_last and isinstance(kept, Const) and kept.value is True
        return Tensor(State.UNKNOWN, width=Poly.number(1) if narrow else None)
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
    if name in ("view", "reshape") and sizes and len(sizes) == len(nodes):
        interp.emit(Reshaped, node, tensor=tensor, sizes=sizes, nodes=nodes, equal=dict(interp.equal))
    last = poly_of(sizes[-1]) if sizes and name in ("view", "reshape") else None
    if tensor.state is State.SHARDED:
        share = isinstance(sizes[-1], Sym) and PER_RANK in sizes[-1].tags if sizes else False
        known = tensor.last and share and tensor.width is not None and last is not None
        same = known and _is_share(last, tensor.width, interp.equal)  # type: ignore[arg-type]
        return tensor.but(last=same, width=tensor.width if same else None, dims=None)
    if last is not None and last == tensor.width:
        return tensor.but(dims=None)
    return used_whole(tensor).but(width=None, dims=None)


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
    if name == "unbind":
        return Seq((), moved(tensor))
    if isinstance(given, Heap):
        given = given.content
    part = used_whole(tensor).but(dims=None)
    if not on_last:
        return Seq((), moved(part) if tensor.state is State.SHARDED else part)
    if name in ("chunk", "tensor_split", "split_tensor_along_last_dim") and isinstance(given, Const) and isinstance(given.value, int) and 0 < given.value <= 64:  # fmt: skip
        count = given.value
        if tensor.state is State.SHARDED and tensor.last:
            interp.emit(ThirdsTaken, node, tensor=tensor, count=count)
        width = tensor.width.divided(Poly.number(count)) if tensor.width is not None else None
        return Seq((part.but(width=width),) * count)
    if name == "split" and isinstance(given, Seq) and given.rest is None:
        return Seq(tuple(part.but(width=None if tensor.state is State.SHARDED else poly_of(size)) for size in given.items))
    return Seq((), part.but(width=None))


# -- joining ------------------------------------------------------------------------------------------------------


def _parts(interp: Interpreter, given: Value, node: ast.expr) -> list[Value]:
    from . import attributes

    found = attributes.as_seq(interp, given)
    if found is None:
        return []
    items = [calls.as_tensor(interp, item, node, "it is joined with other tensors") for item in found.items]
    return items + ([found.rest] if found.rest is not None else [])


def _join_states(interp: Interpreter, parts: list[Value], node: ast.expr) -> Tensor:
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) == len(parts) and tensors and all(part.state is tensors[0].state for part in tensors):
        whys = [part.why for part in tensors if part.why is not None]
        return tensors[0].but(width=None, why=interp.step(node, "they are joined", *whys) if whys else None, dims=None)
    return Tensor(State.UNKNOWN)


def concatenated(interp: Interpreter, given: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """`torch.cat`: a full operand makes the result full; shards along the split dimension stay shards."""
    parts = _parts(interp, given, node)
    if not parts:
        return UNKNOWN
    if len(parts) in (2, 3) and all(isinstance(part, Tensor) and part.tag in ("argument", "loaded") for part in parts):
        return Tensor(State.UNKNOWN, role="cat of loaded", tag="loaded")
    dim = kwargs.get("dim", kwargs.get("axis", rest[0] if rest else Const(0)))
    tensors = [part for part in parts if isinstance(part, Tensor)]
    states = {part.state for part in tensors}
    on_last = isinstance(dim, Const) and dim.value in (-1,)
    if not on_last:
        joined = _join_states(interp, parts, node)
        return joined.but(last=joined.last)
    whys = [part.why for part in tensors if part.why is not None]
    width = _sum_widths(tensors) if len(tensors) == len(parts) else None
    if State.FULL in states and State.SHARDED not in states and State.PARTIAL not in states:
        known = next(part for part in tensors if part.state is State.FULL)
        text = "joined on the last dimension with a full tensor, so the result is full"
        return Tensor(State.FULL, width=width, why=interp.step(node, text, known.why), role="cat")
    if states == {State.SHARDED} and len(tensors) == len(parts):
        text = "shards joined on the last dimension"
        return Tensor(State.SHARDED, width=width, last=all(p.last for p in tensors), why=interp.step(node, text, *whys), role="cat of shards")  # fmt: skip
    if State.FULL in states and State.SHARDED in states:
        sharded = next(part for part in tensors if part.state is State.SHARDED)
        full = next(part for part in tensors if part.state is State.FULL)
        text = "joined on the last dimension with a full tensor: no split tensor any more"
        return Tensor(State.UNKNOWN, why=interp.step(node, text, sharded.why, full.why), role="mixed cat")
    return Tensor(State.UNKNOWN, width=width)


def _sum_widths(parts: list[Tensor]) -> Poly | None:
    total = Poly.number(0)
    for part in parts:
        if part.width is None:
            return None
        total = total + part.width
    return total


def _where(interp: Interpreter, kept: Value, instead: Value, node: ast.expr) -> Value:
    """One of two values per element, chosen by a mask."""
    if not isinstance(kept, Tensor | Pair) and not isinstance(instead, Tensor | Pair):
        return UNKNOWN
    return combine(interp, kept, instead, node, additive=False)


def combine(interp: Interpreter, left: Value, right: Value, node: ast.expr, additive: bool) -> Value:
    """Elementwise arithmetic of two values, one of them a tensor."""
    left = calls.as_tensor(interp, left, node, "it is an operand of arithmetic")
    right = calls.as_tensor(interp, right, node, "it is an operand of arithmetic")
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        tensor = left if isinstance(left, Tensor) else right
        other = right if tensor is left else left
        if not isinstance(tensor, Tensor):
            return UNKNOWN
        if isinstance(other, Const | Sym):
            return tensor
        return _with_unknown(tensor, additive)
    return _two_tensors(interp, left, right, node, additive)


def _with_unknown(tensor: Tensor, additive: bool) -> Tensor:
    """Shapes must agree, so a split operand stays split; a full one may be broadcast, unless it was added."""
    if tensor.state is State.SHARDED:
        return tensor.but(dims=None)
    if tensor.state is State.FULL and (additive or tensor.width is not None) and not _narrow(tensor):
        return used_whole(tensor).but(dims=None)
    return Tensor(State.UNKNOWN, why=tensor.why)


def _narrow(tensor: Tensor) -> bool:
    return tensor.width is not None and tensor.width.constant == 1


def _two_tensors(interp: Interpreter, left: Tensor, right: Tensor, node: ast.expr, additive: bool) -> Tensor:
    states = (left.state, right.state)
    if State.PARTIAL in states:
        partial, other = (left, right) if left.state is State.PARTIAL else (right, left)
        if additive and other.role in ("parameter", "bias of layer"):
            interp.emit(BiasOnPartial, node, tensor=partial)
        return partial.but(dims=None)
    if State.UNKNOWN in states:
        known = left if right.state is State.UNKNOWN else right
        if known.state is State.UNKNOWN:
            return Tensor(State.UNKNOWN, width=left.width if left.width == right.width else None)
        other = right if known is left else left
        if known.state is State.FULL and (other.role == "parameter" or _narrow(other)):
            return known.but(dims=None)
        return _with_unknown(known, additive)
    if left.state is right.state:
        whys = [part.why for part in (left, right) if part.why is not None]
        why = interp.step(node, "combined", *whys) if len(whys) == 2 and left.why is not right.why else left.why
        wide = left if not _narrow(left) else right
        width = wide.width if left.width == right.width or _narrow(left) or _narrow(right) else None
        return Tensor(left.state, left.last and right.last, width, why, role=left.role if left.role == right.role else "")
    sharded, full = (left, right) if left.state is State.SHARDED else (right, left)
    if sharded.last and full.role in ("row", "linear", "cat", "gathered") and not _narrow(full):
        proven = additive and full.width is not None and full.width == sharded.width
        interp.emit(ShardedEscape, node, tensor=sharded, other=full, consumer="an addition with a full tensor" if additive else "a product with a full tensor", proven=proven)  # fmt: skip
    return Tensor(State.UNKNOWN, why=sharded.why)


def matmul(interp: Interpreter, left: Value, right: Value, node: ast.expr) -> Value:
    """`left @ right`: attention of per-rank heads stays per rank."""
    left = calls.as_tensor(interp, left, node, "it is an operand of a matrix product")
    right = calls.as_tensor(interp, right, node, "it is an operand of a matrix product")
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    if left.state is right.state is State.SHARDED:
        return Tensor(State.SHARDED, last=False, why=right.why or left.why)
    if left.state is right.state is State.FULL:
        return Tensor(State.FULL, why=left.why)
    known = left if left.state is State.SHARDED else right if right.state is State.SHARDED else None
    if known is not None and not known.last:
        return Tensor(State.SHARDED, last=False, why=known.why)
    return Tensor(State.UNKNOWN)


def _product(interp: Interpreter, name: str, args: tuple[Value, ...], node: ast.expr) -> Value:
    operands = list(args)
    if name == "einsum":
        operands = operands[1:]
    if name in ("baddbmm", "addmm"):
        operands = operands[1:]
    if len(operands) < 2:
        return UNKNOWN
    return interp.lift(lambda a, b: matmul(interp, a, b, node), operands[0], operands[1])


def _attention(interp: Interpreter, query: Value, rest: tuple[Value, ...], node: ast.expr) -> Value:
    for value in (query, *rest[:2]):
        calls.as_tensor(interp, value, node, "it is passed to `scaled_dot_product_attention`")
    query = query.output if isinstance(query, Pair) else query
    if isinstance(query, Tensor) and query.state is State.SHARDED:
        return moved(query)
    value = interp.settle(rest[1]) if len(rest) > 1 else UNKNOWN
    if isinstance(value, Tensor) and value.state is not State.UNKNOWN:
        return moved(value)
    return moved(query) if isinstance(query, Tensor) else UNKNOWN


def functional_linear(
    interp: Interpreter, given: Value, rest: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`F.linear(x, weight, bias)`: a weight split on its input dimension gives partial sums."""
    given = calls.as_tensor(interp, given, node, "it is passed to `F.linear`")
    weight = interp.settle(rest[0] if rest else kwargs.get("weight", UNKNOWN))
    bias = interp.settle(rest[1] if len(rest) > 1 else kwargs.get("bias", Const(None)))
    if isinstance(weight, Tensor) and weight.role == "weight of layer":
        return bypass(interp, weight, node)
    if not isinstance(weight, Tensor) or weight.dims is None or len(weight.dims) != 2:
        return Tensor(State.UNKNOWN)
    out, taken = weight.dims
    if isinstance(taken, Sym) and PER_RANK in taken.tags:
        why = interp.step(node, "the weight is split on its input dimension: each rank holds a partial sum")
        result = Tensor(State.PARTIAL, width=poly_of(out), why=why)
        if isinstance(bias, Tensor) and bias.role == "parameter" and not _is_zero_elsewhere(bias):
            interp.emit(BiasOnPartial, node, tensor=result)
        return result
    if isinstance(out, Sym) and PER_RANK in out.tags:
        why = interp.step(node, "the weight is split on its output dimension")
        return Tensor(State.SHARDED, why=why)
    return Tensor(State.UNKNOWN, width=poly_of(out))


def bypass(interp: Interpreter, weight: Tensor, node: ast.expr) -> Tensor:
    """The weight of a parallel layer multiplied without the layer: its collectives never run."""
    mark = f"bypass#{interp.fresh('').text}"
    interp.emit(WeightTaken, node, layer=interp.held[int(weight.tag)], mark=mark)
    return Tensor(State.UNKNOWN, tag=mark)


def _is_zero_elsewhere(bias: Tensor) -> bool:
    return bool(bias.dims) and isinstance(bias.dims[-1], Sym) and PER_RANK in bias.dims[-1].tags  # type: ignore[index]


# -- collectives --------------------------------------------------------------------------------------------------

_GATHER = ("gather_from_tensor_model_parallel_region", "tensor_model_parallel_all_gather", "gather_from_model_parallel_region", "all_gather_last_dim_from_tensor_parallel_region")  # fmt: skip
_REDUCE_OPS = ("reduce_from_tensor_model_parallel_region", "tensor_model_parallel_all_reduce", "reduce_from_model_parallel_region")  # fmt: skip
_SCATTER = ("scatter_to_tensor_model_parallel_region", "scatter_to_model_parallel_region")
_COPY = ("copy_to_tensor_model_parallel_region", "copy_to_model_parallel_region")


def collective(interp: Interpreter, name: str, args: tuple[Value, ...], node: ast.expr) -> Value | None:
    """A TP region helper by its name; None when it is none."""
    if name not in _GATHER + _REDUCE_OPS + _SCATTER + _COPY and "parallel_cross_entropy" not in name:
        return None

    def apply(value: Value) -> Value:
        value = calls.as_tensor(interp, value, node, f"it is passed to `{name}`")
        tensor = value if isinstance(value, Tensor) else Tensor(State.UNKNOWN)
        interp.reduced.add(tensor.tag)
        if name in _GATHER:
            return Tensor(State.FULL, width=tensor.width, why=interp.step(node, f"`{name}` makes it full"), role="gathered")
        if name in _REDUCE_OPS:
            return Tensor(State.FULL, width=tensor.width, why=interp.step(node, f"`{name}` makes it full"), role="row")
        if name in _SCATTER:
            return Tensor(State.SHARDED, width=tensor.width, why=interp.step(node, f"`{name}` splits it"))
        if name in _COPY:
            return tensor
        if tensor.state is State.FULL:
            interp.emit(LossOnGathered, node, tensor=tensor)
        return Tensor(State.UNKNOWN)

    return interp.lift(apply, args[0]) if args else UNKNOWN

