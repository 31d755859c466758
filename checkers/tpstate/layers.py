"""Modules that are not read: parallel layers by their contract, torch.nn modules by what they do to a state."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..facts.nodes import as_code
from ..language import tr
from ..project.project import External
from . import (
    attention,
    attributes,
    calls,
    flags,
    indexing,
    placements,
    provider_table,
    providers,
    token_sources,
    tokens,
    torch_layers,
)
from .choices import Choice
from .events import Built, ParallelCall
from .inputs import GROUPS, group_of, is_alone, size
from .interpreter import Interpreter
from .parameter_events import ParameterMade
from .provider_table import Provider
from .states import State, Tokens
from .symbols import Poly
from .token_events import TokensGathered
from .values import NONE, UNKNOWN, Cls, Const, Heap, Kwargs, Obj, Pair, Seq, Sym, Table, Tensor, Value


def build_external(
    interp: Interpreter, obj: Obj, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """An instance of a library class: a parallel layer, a container, or a module that is not read."""
    row = providers.provider_for(interp.project, External(obj.cls.dotted))
    if row is not None:
        build_parallel(interp, obj, row, args, kwargs, node)
        return obj
    last = obj.cls.dotted.rsplit(".", 1)[-1]
    if last == "Parameter":
        given = args[0] if args else UNKNOWN
        if isinstance(given, Tensor):
            if given.dims is not None and any(torch_layers.per_rank(size) for size in given.dims):
                interp.emit(ParameterMade, node, sizes=given.dims)
            return given.but(role="parameter", state=State.UNKNOWN)
        return Tensor(State.UNKNOWN, role="parameter")
    fill_external(interp, obj, obj.cls.dotted, args, kwargs)
    return obj


def fill_external(
    interp: Interpreter, obj: Obj, dotted: str, args: tuple[Value, ...], kwargs: Kwargs
) -> None:
    """The arguments and children of a module of a library."""
    last = dotted.rsplit(".", 1)[-1]
    if last in ("Sequential", "ModuleList", "ParameterList"):
        obj.attrs["content"] = _children(interp, args, kwargs, spread=last == "Sequential")
    elif last == "ModuleDict":
        given = args[0] if args else Heap("dict", {"content": Table({})})
        is_table = isinstance(given, Heap) and isinstance(given.content, Table)
        obj.attrs["content"] = given.content if is_table and isinstance(given, Heap) else Table({}, UNKNOWN)
    obj.args = {**obj.args, **{str(index): value for index, value in enumerate(args)}, **kwargs}


def _children(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, spread: bool) -> Value:
    if "*" in kwargs:
        return Seq(args, kwargs["*"])
    if spread and not (len(args) == 1 and isinstance(args[0], Heap)):
        return Seq(args)
    if not args:
        return Seq(())
    given = args[0]
    if isinstance(given, Heap) and isinstance(given.content, Table):
        return Seq(tuple(given.content.entries.values()), given.content.rest)
    return indexing.as_seq(interp, given) or Seq((), UNKNOWN)


def build_parallel(
    interp: Interpreter, obj: Obj, row: Provider, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> None:
    """A parallel layer: its arguments by name, and the contract it follows."""
    row = providers.as_called(interp.project, row, interp.site(node).module, kwargs)
    bound = dict(zip(row.positional, args, strict=False))
    bound.update({name: value for name, value in kwargs.items() if name not in ("**", "*")})
    perhaps = kwargs.get("**")
    if isinstance(perhaps, Table):
        bound.update(perhaps.entries)
    bound.update({name: bound[other] for other, name in row.renamed if other in bound})
    row = provider_table.by_mode(row, node)
    if row.family == provider_table.INFERENCE:
        bound.update(_groups(interp, bound, node))
    obj.args = bound
    obj.provider = row
    interp.emit(
        Built,
        node,
        obj=obj,
        positional=len(args),
        keywords=dict(kwargs),
        open_keywords="**" in kwargs,
        contract=row,
    )


def _groups(interp: Interpreter, bound: Kwargs, node: ast.expr) -> Kwargs:
    """Groups that nothing is known of, by how the constructor writes them: what is written alike is one group."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    serial = interp.frame.serial if interp.frame is not None else 0
    return {
        keyword.arg: Sym.named(f"{as_code(keyword.value)}@{serial}")
        for keyword in keywords
        if keyword.arg in GROUPS and bound.get(keyword.arg) == UNKNOWN
    }


def by_keywords(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Obj | None:
    """A layer that a spec will name when the job runs, known by what it is told: Megatron's `gather_output=` makes it
    column-parallel, `input_is_parallel=` row-parallel; both return a pair."""
    if not isinstance(node, ast.Call) or not {"config", "init_method", "skip_bias_add"} <= kwargs.keys():
        return None
    kind = provider_table.COLUMN if "gather_output" in kwargs else provider_table.ROW
    if kind == provider_table.ROW and "input_is_parallel" not in kwargs:
        return None
    asked = node.args[0] if attention.called_name(node) == "build_module" and node.args else node.func
    dotted = ast.unparse(asked)
    row = replace(provider_table.SPEC[kind], fused="qkv" in dotted)
    obj = Obj(Cls(dotted), made_at=interp.site(node))
    interp.made(obj.attrs)
    build_parallel(interp, obj, row, args, kwargs, node)
    return obj


def flag(interp: Interpreter, obj: Obj, name: str, default: bool | None) -> bool | None:
    """A boolean option of a layer: True, False, or None when it cannot be told."""
    value = interp.settle(obj.args[name]) if name in obj.args else None
    if value is None:
        return default
    return bool(value.value) if isinstance(value, Const) and isinstance(value.value, bool) else None


def label(obj: Obj) -> str:
    """How a message names a layer: its attribute, else its class."""
    return obj.name or obj.cls.dotted.rsplit(".", 1)[-1]


def call_parallel(
    interp: Interpreter, obj: Obj, row: Provider, given: Value, kwargs: Kwargs, node: ast.expr
) -> Value:
    """Call a parallel layer on one input (no alternatives left) by its contract.

    `disable_tp`, or a group of one rank, turns a layer into a replicated one; an open flag is followed both ways.
    """
    off = obj.args.get("disable_tp", Const(is_alone(obj)))
    if isinstance(off, Sym):
        key, turned = flags.bare(off.text)
        off = Choice(key, Const(not turned), Const(turned))
    alone = replace(row, kind=provider_table.REPLICATED)

    def by_flag(value: Value) -> Value:
        is_off = isinstance(value, Const) and value.value is True
        known = isinstance(value, Const) and isinstance(value.value, bool)
        return _call(interp, obj, alone if is_off else row, given, kwargs, node, known)

    return interp.lift(by_flag, off)


def _call(
    interp: Interpreter, obj: Obj, row: Provider, given: Value, kwargs: Kwargs, node: ast.expr, known: bool
) -> Value:
    given = calls.as_tensor(interp, given, node, tr("it is passed to `%(obj)s`", obj=label(obj)))
    if row.kind == provider_table.EMBEDDING:
        reduced = flag(interp, obj, "reduce_scatter_embeddings", False)
        why = interp.step(node, tr("`%(obj)s` is an embedding: it returns every channel", obj=label(obj)))
        state = State.FULL if reduced is False else State.UNKNOWN
        held = token_sources.of_embedding(interp, obj, reduced, label(obj), node)
        return Tensor(state, width=size(obj, row, 1), why=why, role="embedding", tokens=held)
    learn_width(interp, given, size(obj, row, 0))
    if row.kind == provider_table.COLUMN:
        placements.whole_argument(interp, given, node, tr("the column-parallel `%(obj)s`", obj=label(obj)))
    if (
        row.kind == provider_table.REPLICATED
        and isinstance(given, Tensor)
        and given.state is State.SHARDED
        and known
    ):
        torch_layers.meets_replicated(interp, obj, given, size(obj, row, 0), node)
    output = Tensor(State.UNKNOWN, width=size(obj, row, 1))
    if known:
        output = _output(interp, obj, row, given, kwargs, node)
    output = output.but(tokens=_tokens(interp, obj, row, given, node))
    result = _packed(interp, obj, row, output, node)
    interp.emit(ParallelCall, node, layer=obj, row=row, given=given, result=result)
    return result


def _output(
    interp: Interpreter, obj: Obj, row: Provider, given: Value, kwargs: Kwargs, node: ast.expr
) -> Tensor:
    name, width = label(obj), size(obj, row, 1)
    before = given.why if isinstance(given, Tensor) else None
    if row.kind == provider_table.REPLICATED:
        why = interp.step(node, tr("`%(name)s` is replicated: every rank holds its whole output", name=name))
        return Tensor(State.FULL, width=width, why=why)
    group = group_of(obj, row)
    if group is None:
        return Tensor(State.UNKNOWN, width=width)
    if row.kind == provider_table.COLUMN:
        gathers = flag(interp, obj, "gather_output", False if row.gather is None else row.gather)
        if "runtime_gather_output" in kwargs or gathers is None or row.returns == provider_table.UNDECIDED:
            return Tensor(State.UNKNOWN, width=width)
        if gathers:
            why = interp.step(
                node, tr("`%(name)s` gathers its output (gather_output=True), so it is full", name=name)
            )
            return Tensor(State.FULL, width=width, why=why, role="gathered")
        why = interp.step(node, tr("`%(name)s` is column-parallel: its output is split", name=name))
        fused = row.fused or "Merged" in obj.cls.dotted or "QKV" in obj.cls.dotted
        # With Megatron's `stride`, nanotron's `contiguous_chunks`, a rank holds its share of q, then of k, then of v.
        fused = fused or obj.args.get("stride", Const(1)) != Const(1) or "contiguous_chunks" in obj.args
        role = "fused" if fused else "column"
        return Tensor(State.SHARDED, width=width, why=why, role=role, tag=f"column#{obj.serial}", group=group)
    reduces = flag(interp, obj, "reduce_results", True)
    skips = kwargs.get("skip_all_reduce", Const(False))
    if flag(interp, obj, "parallel_output", False) is not False or not isinstance(skips, Const):
        return Tensor(State.UNKNOWN, width=width)
    if reduces is None or obj.attrs.keys() & _OWN_TRAFFIC:
        return Tensor(State.UNKNOWN, width=width)
    if not reduces or skips.value:
        return Tensor(
            State.PARTIAL,
            width=width,
            why=interp.step(node, tr("`%(name)s` does not reduce its output", name=name), before),
        )
    why = interp.step(
        node, tr("`%(name)s` is row-parallel: its output is all-reduced, so it is full", name=name)
    )
    return Tensor(State.FULL, width=width, why=why, role="row")


_OWN_TRAFFIC = {"explicit_expert_comm", "parallel_mode", "sequence_parallel"}
"""Attributes of a layer that, set from outside, switch its own gather and reduce-scatter off."""


def _sequence_flag(interp: Interpreter, obj: Obj, row: Provider, node: ast.expr) -> Value | None:
    """Whether a parallel layer is told to work on stretches of the sequence; None where that is unknown."""
    config = interp.settle(obj.args.get("config", NONE))
    if row.family != provider_table.MEGATRON or interp.frame is None or config == NONE:
        return None
    if obj.args.get("is_expert", Const(False)) != Const(False) or obj.attrs.keys() & _OWN_TRAFFIC:
        return None  # the token dispatcher moves the tokens, or the class itself
    value = interp.settle(attributes.read(interp, interp.frame, config, "sequence_parallel", node))
    return value if isinstance(value, Const | Sym) else None


def _tokens(interp: Interpreter, obj: Obj, row: Provider, given: Value, node: ast.expr) -> Tokens | None:
    """The tokens of the output; a column-parallel layer gathers those of the ranks under sequence parallelism."""
    if not isinstance(given, Tensor) or given.tokens is None:
        return None
    if row.kind not in (provider_table.COLUMN, provider_table.ROW):
        return given.tokens if row.kind == provider_table.REPLICATED else None
    flag = _sequence_flag(interp, obj, row, node)
    if row.kind == provider_table.ROW:
        return tokens.of_row(interp, given, flag, label(obj), node)
    twice = tokens.gathers_twice(interp, given, flag)
    if twice is not None:
        interp.emit(
            TokensGathered, node, tokens=twice, taker=tr("the column-parallel `%(obj)s`", obj=label(obj))
        )
    return tokens.of_column(interp, given, flag, label(obj), node)


def _packed(interp: Interpreter, obj: Obj, row: Provider, output: Tensor, node: ast.expr) -> Value:
    if row.tensor_flag:
        returns = flag(interp, obj, row.tensor_flag, True)
        if returns is None:
            return UNKNOWN
        if not returns:
            return output
    if row.returns == provider_table.TENSOR:
        return output
    if row.returns == provider_table.UNDECIDED:
        return UNKNOWN
    skip, bias = flag(interp, obj, "skip_bias_add", False), flag(interp, obj, "bias", True)
    no_bias = skip is False or bias is False
    returned = NONE if no_bias else Tensor(State.UNKNOWN, role="returned bias") if skip and bias else UNKNOWN
    return Pair(output, returned, obj, interp.site(node))


def learn_width(interp: Interpreter, given: Value, takes: Poly | None) -> None:
    """A layer that takes `takes` channels tells the width of the argument it is called with."""
    if isinstance(given, Tensor) and given.width is not None and takes is not None:
        name = str(given.width)
        if name.startswith("|") and given.width == Poly.atom(name):
            interp.equal.setdefault(name, takes)
