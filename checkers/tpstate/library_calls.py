"""Calls of the standard library, torch and Megatron helpers, by their dotted name."""

from __future__ import annotations

import ast

from ..language import tr
from ..project.project import NamespaceRef
from . import (
    arithmetic,
    attributes,
    buffers,
    building,
    builtin_calls,
    calls,
    collectives,
    groups,
    indexing,
    layers,
    marks,
    number_calls,
    parts,
    tensors,
    tokens,
)
from .callables import Func, Partial
from .choices import Choice
from .events import FLAG_LEFT_OUT, Checkpointed
from .interpreter import Interpreter
from .parameter_events import Divided, WholeCollected
from .states import State
from .values import (
    NONE,
    TP,
    UNKNOWN,
    Cls,
    Const,
    Heap,
    Known,
    Kwargs,
    Mod,
    Obj,
    Seq,
    Sym,
    Table,
    Tensor,
    Value,
)

_FACTORIES = frozenset("empty zeros ones rand randn full tensor arange linspace eye as_tensor".split())


def call_known(
    interp: Interpreter, dotted: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Call a library function by its dotted name."""
    last = dotted.rsplit(".", 1)[-1]
    if dotted.startswith("builtins."):
        handler = builtin_calls.BUILTINS.get(last)
        return handler(interp, args, kwargs, node) if handler is not None else UNKNOWN
    special = _named(interp, dotted, last, args, kwargs, node)
    if special is not None:
        return special
    if dotted.startswith(("torch.nn.functional.", "torch.")) or dotted.startswith("einops."):
        return _torch(interp, dotted, last, args, kwargs, node)
    if dotted.startswith(("math.", "numpy.")):
        return number_calls.math_of(interp, last, args, node)
    if dotted == "functools.partial" and args:
        return Partial(args[0], args[1:], kwargs)
    if dotted == "importlib.import_module":
        return import_module(interp, args)
    if dotted in ("copy.deepcopy", "copy.copy") and args:
        return args[0]
    if dotted in ("typing.cast", "typing_extensions.cast") and len(args) == 2:
        return args[1]
    if dotted.startswith("itertools.") or dotted.startswith("collections."):
        return UNKNOWN
    return calls.unknown_call(interp, UNKNOWN, args, node, kwargs)


def special_function(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value | None:
    """Functions of the tree known by name and role, so that a vendored Megatron reads like the installed one."""
    name = getattr(func.node, "name", "")
    if name == "checkpoint" and func.owner is not None:
        return None  # a method that writes one, not the function that recomputes
    if "parallel_cross_entropy" in name and not interp.is_opaque(func.module):
        _named(interp, f"{func.module.name}.{name}", name, args, kwargs, node)
        return None  # one of the tree's own is followed inside
    if (
        name in _BY_ROLE
        or "parallel_cross_entropy" in name
        or groups.is_size_getter(name)
        or groups.is_rank_getter(name)
    ):
        return _named(interp, f"{func.module.name}.{name}", name, args, kwargs, node)
    return None


_BY_ROLE = (
    frozenset(
        """set_tensor_model_parallel_attributes checkpoint
    build_module apply_module divide ensure_divisibility split_tensor_along_last_dim get_args
    gather_from_tensor_model_parallel_region reduce_from_tensor_model_parallel_region tensor_model_parallel_all_gather
    tensor_model_parallel_all_reduce gather_from_model_parallel_region reduce_from_model_parallel_region
    scatter_to_tensor_model_parallel_region scatter_to_model_parallel_region copy_to_tensor_model_parallel_region
    copy_to_model_parallel_region all_gather_last_dim_from_tensor_parallel_region make_viewless_tensor""".split()
    )
    | tokens.REGIONS
)


def _named(
    interp: Interpreter, dotted: str, last: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value | None:
    if groups.is_size_getter(last):
        return Sym.named("tp", TP)
    if groups.is_rank_getter(last):
        return Sym.named("tp_rank")
    if last == "set_tensor_model_parallel_attributes":
        marks.marked_by_call(interp, args, kwargs, node)
        return NONE
    if last == "divide" and len(args) == 2:
        result = arithmetic.numbers(interp, ast.FloorDiv(), args[0], args[1], node, node)
        interp.log.events.pop() if _just_divided(interp, node) else None
        return result
    if last == "ensure_divisibility":
        return NONE
    if last == "checkpoint" and "state" not in dotted:
        return _checkpoint(interp, dotted, args, kwargs, node)
    if last == "build_module" and args:
        return _build_module(interp, args, kwargs, node)
    if last in ("apply_module", "make_viewless_tensor") and (args or "inp" in kwargs):
        return args[0] if args else kwargs["inp"]
    if last == "split_tensor_along_last_dim" and args:
        return tensors.function(interp, last, args, kwargs, node)
    return collectives.collective(interp, last, args, kwargs, node)


def _just_divided(interp: Interpreter, node: ast.expr) -> bool:
    """`divide` checks what it divides, so its division is no finding."""
    events = interp.log.events
    return bool(events) and isinstance(events[-1], Divided) and events[-1].site.node is node


def _checkpoint(
    interp: Interpreter, dotted: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Activation checkpointing: runs its function. Megatron's takes a flag before the tensors, torch's does not."""
    if not args:
        return UNKNOWN
    rest = args[1:]
    flagged = "megatron" in dotted and ".mpu" not in dotted  # that of mpu asked the settings, until 2022
    megatron = "torch.utils" not in dotted and bool(rest) and (isinstance(rest[0], Const) or flagged)
    if flagged and rest and isinstance(interp.settle(rest[0]), Tensor):
        interp.emit(Checkpointed, node, bad=FLAG_LEFT_OUT)
    if megatron:
        rest = rest[1:]
        for value in rest:
            settled = interp.settle(value)
            bad = ""
            if isinstance(settled, Heap) and isinstance(settled.content, Table):
                bad = tr("a dict")
            elif isinstance(settled, Heap):
                bad = tr("a list")
            elif isinstance(settled, Obj) and settled.cls.facts is not None:
                bad = tr("an object of class %(cls)s", cls=settled.cls.dotted.rsplit(".", 1)[-1])
            elif isinstance(settled, Const) and isinstance(settled.value, int | float | str):
                bad = tr(
                    "the %(__name__)s %(value)s",
                    __name__=type(settled.value).__name__,
                    value=repr(settled.value),
                )
            if bad and "megatron" in dotted:
                interp.emit(Checkpointed, node, bad=bad)
    inner = {
        key: value
        for key, value in kwargs.items()
        if key not in ("use_reentrant", "preserve_rng_state", "context_fn")
    }
    return calls.call(interp, args[0], rest, {} if megatron else inner, node)


def _build_module(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """A layer named by a spec: followed where the spec can be seen."""

    def build(spec: Value) -> Value:
        if isinstance(spec, Cls):
            return building.construct(interp, spec, args[1:], kwargs, node)
        if isinstance(spec, Func):
            return spec
        parts = spec.attrs if isinstance(spec, Obj) else {}
        if isinstance(spec, Obj) and attributes.is_spec(spec):
            parts = {
                **dict(
                    zip(
                        ("module", "params", "submodules"),
                        (spec.args[at] for at in "012" if at in spec.args),
                        strict=False,
                    )
                ),
                **spec.args,
            }
        if "module" in parts:
            merged = dict(kwargs)
            submodules = parts.get("submodules", NONE)
            if not (isinstance(submodules, Const) and submodules.value is None):
                merged["submodules"] = submodules
            params = parts.get("params")
            if isinstance(params, Heap) and isinstance(params.content, Table):
                merged = {**{str(k): v for k, v in params.content.entries.items()}, **merged}
            return calls.call(interp, parts["module"], args[1:], merged, node)
        return layers.by_keywords(interp, args[1:], kwargs, node) or UNKNOWN

    return interp.lift(build, args[0])


def import_module(interp: Interpreter, args: tuple[Value, ...]) -> Value:
    """`importlib.import_module("a.b")`"""
    if args and isinstance(args[0], Const) and isinstance(args[0].value, str) and interp.frame is not None:
        dotted = interp.frame.module.absolute(args[0].value)
        found = interp.project.find_module(dotted, interp.frame.module)
        if isinstance(found, NamespaceRef):
            return Mod(None, found.dotted)
        return Mod(found, found.name) if found is not None else Known(dotted)
    return UNKNOWN


def _reduced_in_place(interp: Interpreter, given: Tensor | Choice, node: ast.expr) -> None:
    """`dist.all_reduce(y)`: the variable holds the whole sum from there on."""
    name = node.args[0] if isinstance(node, ast.Call) and node.args else None
    frame = interp.frame
    held = frame is not None and isinstance(name, ast.Name) and name.id in frame.vars
    after = interp.lift(lambda value: _summed(interp, value, node, held), given)
    if frame is not None and isinstance(name, ast.Name) and held and after is not given:
        interp.write(frame.vars, name.id, after)


def _summed(interp: Interpreter, given: Value, node: ast.expr, held: bool) -> Value:
    """One alternative of what a variable holds, behind an all-reduce in place."""
    if not isinstance(given, Tensor):
        return given
    interp.reduced.add(given.tag)
    if given.state is State.FULL and given.role == "row" and groups.sums_over_tp(node):
        interp.emit(WholeCollected, node, tensor=given, call="all_reduce", gathers=False)
    if given.state is State.PARTIAL:
        why = interp.step(node, tr("it is all-reduced in place, so it is full"), given.why)
        return Tensor(State.FULL, width=given.width, why=why, role="row")
    if held and given.role in (parts.PART, parts.PICK, parts.MASKED) and isinstance(node, ast.Call):
        return parts.put_together(interp, given, node)
    return given


def _size(value: Value) -> Value:
    """A size given to a factory; what is no number is no size, and a tensor made of tensors has no end."""
    return value if isinstance(value, Const | Sym) else UNKNOWN


def _torch(
    interp: Interpreter, dotted: str, last: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    if dotted.endswith(("distributed.all_reduce", "dist.all_reduce")):
        given = interp.settle(args[0]) if args else UNKNOWN
        if isinstance(given, Tensor | Choice) and not groups.is_of_other_axis(node):
            _reduced_in_place(interp, given, node)
        return UNKNOWN
    if dotted.startswith("torch.ops."):
        return calls.unknown_call(interp, UNKNOWN, args, node, kwargs)
    if dotted == "torch.Size" and args:
        return indexing.as_seq(interp, args[0]) or Seq((), UNKNOWN)
    if last == "linspace" and all(isinstance(arg, Const) for arg in args):
        return number_calls.math_of(interp, last, args, node)
    if last in _FACTORIES:
        counted = tokens.of_factory(interp, args, node)
        if counted is not None:
            return Tensor(State.UNKNOWN, tokens=counted)
        dims = args
        if len(args) == 1:
            found = indexing.as_seq(interp, args[0])
            dims = found.items if found is not None and found.rest is None else args
        sized = last in ("empty", "zeros", "ones", "rand", "randn", "full")
        return buffers.made(interp, tuple(map(_size, dims)), node) if sized else Tensor(State.UNKNOWN)
    if last in ("compile",) and args:
        return args[0]
    if last == "jit" or dotted.startswith("torch.jit."):
        return args[0] if args else UNKNOWN
    if dotted.startswith("torch.nn.init."):
        return args[0] if args else UNKNOWN
    if dotted.startswith("torch.distributed."):
        return UNKNOWN
    return tensors.function(interp, last, args, kwargs, node)
