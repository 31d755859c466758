"""Building objects and calling modules."""

from __future__ import annotations

import ast
from typing import Any

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from . import attention, attributes, binding, calls, layers, recall, running, token_sources, torch_layers
from .callables import Func
from .events import Built, EntryCalled, Event, Rejected, UnknownKey
from .interpreter import Interpreter
from .provider_table import Provider
from .providers import dispatches, provider_for
from .summaries import Reads
from .values import NONE, OPEN, UNKNOWN, Cls, Const, Delayed, Heap, Known, Kwargs, Obj, Seq, Tensor, Value

_INPUTS = ("input_", "input", "x", "hidden_states")


def provider_of_class(interp: Interpreter, cls: ClassFacts) -> Provider | None:
    """The provider row of a class of the tree itself (not of its bases)."""
    return provider_for(interp.project, cls)


def construct(
    interp: Interpreter,
    cls: Cls,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    node: ast.expr,
    as_root: bool = False,
) -> Value:
    """Build an instance: run its constructor, or bind the arguments of a layer that is not read.

    A parallel layer of the tree is read only when it is the root itself.
    """
    obj = Obj(cls, made_at=interp.site(node))
    interp.made(obj.attrs)
    if cls.facts is None:
        return layers.build_external(interp, obj, args, kwargs, node)
    row = provider_for(interp.project, cls.facts)
    if row is not None and not as_root:
        layers.build_parallel(interp, obj, row, args, kwargs, node)
        return obj
    if cls.facts.is_dataclass:
        _fill_dataclass(interp, obj, cls.facts, args, kwargs)
        return obj
    method = interp.project.method(cls.facts, "__init__")
    base_row = _base_provider(interp, cls.facts)
    externals = [entry for entry in interp.project.mro(cls.facts) if not isinstance(entry, ClassFacts)]
    if method is None:
        if base_row is not None and not as_root:
            layers.build_parallel(interp, obj, base_row, args, kwargs, node)
        elif externals:
            layers.fill_external(interp, obj, externals[0].dotted, args, kwargs)
        obj.opaque = bool(externals)
        return obj
    if base_row is not None and base_row.kind == "plain":
        obj.opaque = True
    func = Func(method[1], method[0].module, None, method[0])
    interp.emit(
        Built, node, obj=obj, positional=len(args), keywords=dict(kwargs), open_keywords=OPEN in kwargs
    )
    if interp.is_opaque(cls.facts.module):
        obj.opaque = True
        return obj
    alone = as_root or interp.stop_at is not None
    key = None if alone else _twin_key(interp, cls, args, kwargs)
    obj.args = binding.names_of(interp, method[1], (obj, *args), kwargs)
    twin = recall.recalled(interp, interp.twins, key) if key is not None else None
    if isinstance(twin, Obj):
        obj.become(twin)
        return obj
    if interp.stop_at is not None and cls.facts is not interp.root and interp.stop_at(obj, method[1]):
        return obj

    def run() -> Obj:
        obj.unfinished = running.run_function(interp, func, (obj, *args), kwargs, node) is UNKNOWN
        return obj

    if not alone and base_row is None and interp.needed is not None and not interp.needed(cls.facts):
        obj.delayed = Delayed(obj, recall.later(interp, run))
        if key is not None:
            interp.twins.keep(key, obj, Reads(interp.branch, interp.choice, interp.depth), logged=True)
        return obj

    if key is None:
        return run()
    return recall.recorded(
        interp, interp.twins, key, run, lambda _, events: not any(_concerns_caller(event) for event in events)
    )


def _concerns_caller(event: Event) -> bool:
    """Whether something is wrong with the call itself, which must be seen at every call."""
    if isinstance(event, Built) and event.contract is not None and "config" in event.contract.required:
        return event.obj.args.get("config", NONE) == NONE
    return isinstance(event, Rejected | UnknownKey | EntryCalled)


def _twin_key(interp: Interpreter, cls: Cls, args: tuple[Value, ...], kwargs: Kwargs) -> Any:
    """Modules built from the same arguments behave alike, so the second stands for the first; rates do not count."""
    given = tuple(running.content_of(value) for value in (*args, *kwargs.values()))
    if not all(running.is_plain(value) for value in given):
        return None
    return (
        id(cls.facts),
        tuple(_rounded(value) for value in given),
        tuple(kwargs),
        bool(interp.catching),
    )


def _rounded(value: Value) -> Value:
    """A fraction by its sign: how often something is dropped changes no shape."""
    if isinstance(value, Const) and isinstance(value.value, float):
        return Const(float((value.value > 0) - (value.value < 0)))
    if isinstance(value, Seq):
        return Seq(tuple(_rounded(item) for item in value.items), value.rest, value.kind)
    return value


def _base_provider(interp: Interpreter, cls: ClassFacts) -> Provider | None:
    for entry in interp.project.mro(cls)[1:]:
        row = provider_for(interp.project, entry)
        if row is not None:
            return row
    return None


def _fill_dataclass(
    interp: Interpreter, obj: Obj, cls: ClassFacts, args: tuple[Value, ...], kwargs: Kwargs
) -> None:
    names: list[str] = []
    for entry in reversed(interp.project.mro(cls)):
        if isinstance(entry, ClassFacts):
            for name in entry.annotations:
                if name not in names:
                    names.append(name)
                if name in entry.constants:
                    obj.attrs[name] = attributes.module_expression(interp, entry, entry.constants[name])
    for name, value in zip(names, args, strict=False):
        obj.attrs[name] = value
    for name, value in kwargs.items():
        if name in names:
            obj.attrs[name] = value
    for name, value in list(obj.attrs.items()):
        if (isinstance(value, Obj) and value.cls.dotted == "dataclasses.field") or isinstance(value, Known):
            obj.attrs[name] = UNKNOWN


def call_object(
    interp: Interpreter, obj: Obj, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """`module(x)`: its forward, a parallel layer's contract, or a library module's."""
    row = obj.provider
    facts = obj.cls.facts
    if obj.delayed is not None:
        _ = obj.attrs
    forward = _forward(interp, obj, facts) if facts is not None else None
    if row is not None and forward is None:
        return interp.lift(
            lambda first: layers.call_parallel(interp, obj, row, first, kwargs, node),
            args[0] if args else next((kwargs[name] for name in _INPUTS if name in kwargs), UNKNOWN),
        )
    if facts is None or forward is None:
        base = obj.cls.dotted if facts is None else _torch_base(interp, facts)
        if not base and obj.attrs.get("content") is None:
            return calls.unknown_call(interp, UNKNOWN, args, node, kwargs)
        return torch_layers.call_external(interp, obj, base, args, kwargs, node)
    token_sources.note_unmarked(interp, obj, args, node)
    key = (
        obj.serial,
        node.lineno,
        node.col_offset,
        _freeze(args),
        _freeze(tuple(kwargs.items())),
        bool(interp.catching),
    )
    found = recall.recalled(interp, interp.memo, key)
    if found is not None:
        return found
    holder, method = forward
    given = args if is_static(method) else (obj, *args)

    def run() -> Value:
        result = running.run_function(interp, Func(method, holder.module, None, holder), given, kwargs, node)
        query = attention.query_of(method, args, kwargs)
        return result if query is None else attention.of_query(interp, result, query)

    return recall.recorded(interp, interp.memo, key, run, lambda *_: True)


def _torch_base(interp: Interpreter, facts: ClassFacts) -> str:
    """The module of torch whose forward a class of the tree runs: it has none of its own."""
    bases = (entry.dotted for entry in interp.project.mro(facts) if not isinstance(entry, ClassFacts))
    found = next(bases, "")
    return found if found.startswith("torch.nn.") and not found.endswith(".Module") else ""


def _forward(interp: Interpreter, obj: Obj, facts: ClassFacts) -> tuple[ClassFacts, ast.FunctionDef] | None:
    """The forward an object runs, unless a provider's own comes first."""
    for entry in interp.project.mro(facts):
        if provider_for(interp.project, entry) is not None:
            return None
        if isinstance(entry, ClassFacts):
            if dispatches(entry):
                return interp.project.method(facts, "forward_native")
            for name in ("forward", "__call__"):
                if name in entry.methods:
                    return entry, entry.methods[name]
    return None


def is_static(method: ast.FunctionDef) -> bool:
    """Whether a method is called without `self`."""
    return any(as_code(decorator) == "staticmethod" for decorator in method.decorator_list)


def _freeze(values: Any) -> Any:
    if isinstance(values, tuple):
        return tuple(_freeze(value) for value in values)
    if isinstance(values, Obj | Heap):
        return values.serial
    if isinstance(values, Tensor):
        return values.but(why=None)
    try:
        hash(values)
    except TypeError:
        return id(values)
    return values
