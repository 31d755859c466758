"""Calls of builtins, the standard library, torch and Megatron helpers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from ..project.project import NamespaceRef
from . import arithmetic, attributes, calls, conditions, expressions, layers, providers, tensors
from .arithmetic import constant
from .events import Checkpointed, PairUsed
from .interpreter import Interpreter
from .symbols import Poly
from .values import (
    HEADS,
    NONE,
    PER_RANK,
    TP,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Func,
    Heap,
    Known,
    Mod,
    NoEntry,
    Obj,
    ObjMethod,
    Pair,
    Partial,
    Seq,
    State,
    Super,
    Sym,
    Table,
    Tensor,
    Value,
    number,
    poly_of,
)

_MAX_ITEMS = 4096
Kwargs = dict[str, Value]
Handler = Callable[[Interpreter, tuple[Value, ...], Kwargs, ast.expr], Value]

_TP_GETTERS = (
    "get_tensor_model_parallel_world_size",
    "get_tensor_parallel_world_size",
    "get_model_parallel_world_size",
    "get_attention_tp_size",
    "get_tensor_and_expert_parallel_world_size",
)
_FACTORIES = frozenset("empty zeros ones rand randn full tensor arange linspace eye as_tensor".split())


def call_known(interp: Interpreter, dotted: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """Call a library function by its dotted name."""
    last = dotted.rsplit(".", 1)[-1]
    if dotted.startswith("builtins."):
        handler = _BUILTINS.get(last)
        return handler(interp, args, kwargs, node) if handler is not None else UNKNOWN
    special = _named(interp, dotted, last, args, kwargs, node)
    if special is not None:
        return special
    if dotted.startswith(("torch.nn.functional.", "torch.")) or dotted.startswith("einops."):
        return _torch(interp, dotted, last, args, kwargs, node)
    if dotted.startswith(("math.", "numpy.")):
        return _math(interp, last, args, node)
    if dotted == "functools.partial" and args:
        return Partial(args[0], args[1:], kwargs)
    if dotted == "importlib.import_module":
        return import_module(interp, args)
    if dotted in ("copy.deepcopy", "copy.copy") and args:
        return args[0]
    if dotted.startswith("itertools.") or dotted.startswith("collections."):
        return UNKNOWN
    return calls.unknown_call(interp, UNKNOWN, args, node)


def special_function(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value | None:
    """Functions of the tree that are known by name and role, so that a vendored Megatron reads like the installed one."""
    name = getattr(func.node, "name", "")
    if name in _BY_ROLE or "parallel_cross_entropy" in name or name in _TP_GETTERS:
        return _named(interp, f"{func.module.name}.{name}", name, args, kwargs, node)
    return None


_BY_ROLE = frozenset(
    """checkpoint build_module apply_module divide ensure_divisibility split_tensor_along_last_dim get_args
    gather_from_tensor_model_parallel_region reduce_from_tensor_model_parallel_region tensor_model_parallel_all_gather
    tensor_model_parallel_all_reduce gather_from_model_parallel_region reduce_from_model_parallel_region
    scatter_to_tensor_model_parallel_region scatter_to_model_parallel_region copy_to_tensor_model_parallel_region
    copy_to_model_parallel_region all_gather_last_dim_from_tensor_parallel_region make_viewless_tensor""".split()
)


def _named(
    interp: Interpreter, dotted: str, last: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value | None:
    if last in _TP_GETTERS:
        return Sym.named("tp", TP)
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
    return tensors.collective(interp, last, args, node)


def _just_divided(interp: Interpreter, node: ast.expr) -> bool:
    """`divide` checks what it divides, so its division is no finding."""
    from .events import Divided

    events = interp.log.events
    return bool(events) and isinstance(events[-1], Divided) and events[-1].site.node is node


def _checkpoint(interp: Interpreter, dotted: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """Activation checkpointing: runs its function. Megatron's takes a flag before the tensors, torch's does not."""
    if not args:
        return UNKNOWN
    rest = args[1:]
    megatron = "torch.utils" not in dotted and bool(rest) and (isinstance(rest[0], Const) or "megatron" in dotted)
    if megatron:
        rest = rest[1:]
        for value in rest:
            settled = interp.settle(value)
            bad = ""
            if isinstance(settled, Heap) and isinstance(settled.content, Table):
                bad = "a dict"
            elif isinstance(settled, Heap):
                bad = "a list"
            elif isinstance(settled, Obj) and settled.cls.facts is not None:
                bad = f"an object of class {settled.cls.dotted.rsplit('.', 1)[-1]}"
            elif isinstance(settled, Const) and isinstance(settled.value, int | float | str):
                bad = f"the {type(settled.value).__name__} {settled.value!r}"
            if bad and "megatron" in dotted:
                interp.emit(Checkpointed, node, bad=bad)
    inner = {key: value for key, value in kwargs.items() if key not in ("use_reentrant", "preserve_rng_state", "context_fn")}
    return calls.call(interp, args[0], rest, {} if megatron else inner, node)


def _build_module(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """A layer named by a spec: followed where the spec can be seen."""

    def build(spec: Value) -> Value:
        if isinstance(spec, Cls):
            return calls.construct(interp, spec, args[1:], kwargs, node)
        if isinstance(spec, Func):
            return spec
        parts = spec.attrs if isinstance(spec, Obj) else {}
        if isinstance(spec, Obj) and attributes.is_spec(spec):
            parts = {**dict(zip(("module", "params", "submodules"), (spec.args[at] for at in "012" if at in spec.args), strict=False)), **spec.args}
        if "module" in parts:
            merged = dict(kwargs)
            submodules = parts.get("submodules", NONE)
            if not (isinstance(submodules, Const) and submodules.value is None):
                merged["submodules"] = submodules
            params = parts.get("params")
            if isinstance(params, Heap) and isinstance(params.content, Table):
                merged = {**{str(k): v for k, v in params.content.entries.items()}, **merged}
            return calls.call(interp, parts["module"], args[1:], merged, node)
        return UNKNOWN

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


def _torch(
    interp: Interpreter, dotted: str, last: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    if dotted.endswith(("distributed.all_reduce", "dist.all_reduce")):
        return UNKNOWN
    if last == "linspace" and all(isinstance(arg, Const) for arg in args):
        return _math(interp, last, args, node)
    if last in _FACTORIES:
        dims = args
        if len(args) == 1:
            found = attributes.as_seq(interp, args[0])
            dims = found.items if found is not None and found.rest is None else args
        sized = last in ("empty", "zeros", "ones", "rand", "randn", "full")
        return Tensor(State.UNKNOWN, dims=tuple(dims) if sized else None)
    if last in ("compile",) and args:
        return args[0]
    if last == "jit" or dotted.startswith("torch.jit."):
        return args[0] if args else UNKNOWN
    if dotted.startswith("torch.nn.init."):
        return args[0] if args else UNKNOWN
    if dotted.startswith("torch.distributed."):
        return UNKNOWN
    return tensors.function(interp, last, args, kwargs, node)


_OF_NUMBERS = frozenset("ceil floor sqrt log log2 log10 exp pow prod gcd isqrt fabs trunc pi e".split())


def _math(interp: Interpreter, last: str, args: tuple[Value, ...], node: ast.expr) -> Value:
    if args and all(isinstance(arg, Const) for arg in args):
        function = getattr(math, last, None) if last in _OF_NUMBERS else None
        try:
            if function is not None:
                return Const(function(*(arg.value for arg in args if isinstance(arg, Const))))
            if last == "linspace" and len(args) == 3:
                low, high, count = (arg.value for arg in args if isinstance(arg, Const))
                step = (high - low) / (count - 1) if count > 1 else 0.0
                return Heap("list", {"content": Seq(tuple(Const(low + step * i) for i in range(min(count, 4096))))})
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN
    items = attributes.as_seq(interp, args[0]) if last == "prod" and len(args) == 1 else None
    factors = [poly_of(item) for item in items.items] if items is not None and items.rest is None else []
    if factors and None not in factors:
        return number(math.prod((poly for poly in factors if poly is not None), start=Poly.number(1)))
    first = poly_of(args[0]) if args else None
    if last in ("ceil", "floor", "prod") and first is not None and isinstance(args[0], Sym):
        if last == "floor":
            return Sym(first, args[0].tags - {"ratio"})
        return Sym(Poly.atom(f"ceil({first})"), args[0].tags - {"ratio"})
    if args and isinstance(args[0], Tensor):
        return args[0].but(state=State.UNKNOWN)
    return UNKNOWN


def call_method(interp: Interpreter, method: ObjMethod, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    """A method of a list, dict, string or library object."""
    owner, name = method.owner, method.name
    if isinstance(owner, Super):
        return _super_method(interp, owner, name, args, kwargs, node)
    if isinstance(owner, Const):
        return _string_method(owner, name, args, kwargs)
    if isinstance(owner, Obj) and name in attributes.ADDS_A_CHILD and len(args) == 2:
        return _add_child(interp, owner, args[0], args[1])
    if isinstance(owner, Heap | Obj) and "content" in owner.attrs:
        content = interp.settle(owner.attrs["content"])
        if isinstance(content, Seq):
            return _list_method(interp, owner, content, name, args)
        if isinstance(content, Table):
            return _dict_method(interp, owner, content, name, args, kwargs, node)
    if isinstance(owner, Obj):
        if name in ("to", "cuda", "cpu", "half", "float", "bfloat16", "eval", "train", "requires_grad_", "apply"):
            return owner
        if name == "forward":
            return calls.call_object(interp, owner, args, kwargs, node)
        for value in args:
            if isinstance(value, Pair):
                return UNKNOWN
    if isinstance(owner, Seq) and name in ("index", "count"):
        return interp.fresh(name)
    return calls.unknown_call(interp, UNKNOWN, args, node)


def _add_child(interp: Interpreter, owner: Obj, name: Value, child: Value) -> Value:
    """`module.add_module(name, child)`"""
    content = owner.attrs.get("content")
    if isinstance(content, Seq):
        return _list_method(interp, owner, content, "append", (child,))
    if isinstance(content, Table):
        attributes.store_item(interp, owner, name, child)
    elif isinstance(name, Const) and isinstance(name.value, str):
        if isinstance(child, Obj) and not child.name:
            child.name = name.value
        interp.write(owner.attrs, name.value, child)  # type: ignore[arg-type]
    return NONE


def _super_method(
    interp: Interpreter, owner: Super, name: str, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    obj = owner.obj
    if not isinstance(obj, Obj) or obj.cls.facts is None:
        return UNKNOWN
    row, external = None, ""
    order = interp.project.mro(obj.cls.facts)
    after = order[order.index(owner.after) + 1 :] if owner.after in order else ()
    for entry in after:
        row = row or providers.provider_for(interp.project, entry)
        external = external or (entry.dotted if not hasattr(entry, "methods") else "")
    if name == "__init__":
        if row is not None:
            layers.build_parallel(interp, obj, row, args, kwargs, node)
        elif external:
            layers.fill_external(interp, obj, external, args, kwargs)
            obj.opaque = external.rsplit(".", 1)[-1] not in ("Module", "Sequential", "ModuleList")
            if external.endswith("MegatronModule"):
                interp.write(obj.attrs, "config", kwargs.get("config", args[0] if args else UNKNOWN))
        return NONE
    if name in ("forward", "__call__") and row is not None and "__provider__" in obj.attrs:
        return interp.lift(lambda first: layers.call_parallel(interp, obj, row, first, kwargs, node), args[0] if args else UNKNOWN)
    return UNKNOWN


_OF_STRINGS = frozenset(
    """lower upper title capitalize strip lstrip rstrip startswith endswith replace removeprefix removesuffix format
    split rsplit partition rpartition""".split()
)


def _string_method(owner: Const, name: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value:
    if name == "item" and isinstance(owner.value, int | float):
        return owner
    if isinstance(owner.value, str) and all(isinstance(arg, Const) for arg in (*args, *kwargs.values())):
        if name in _OF_STRINGS and not (name == "format" and ":" in owner.value):
            given = [arg.value for arg in args if isinstance(arg, Const)]
            named = {key: arg.value for key, arg in kwargs.items() if isinstance(arg, Const)}
            try:
                result = getattr(owner.value, name)(*given, **named)
            except (TypeError, ValueError, IndexError, KeyError):
                return UNKNOWN
            if isinstance(result, list):
                return Heap("list", {"content": Seq(tuple(Const(item) for item in result))})
            if isinstance(result, tuple):
                return Seq(tuple(Const(item) for item in result))
            return constant(result)
    return UNKNOWN


def _list_method(interp: Interpreter, owner: Heap | Obj, content: Seq, name: str, args: tuple[Value, ...]) -> Value:
    def store(items: Seq) -> Value:
        interp.write(owner.attrs, "content", items)  # type: ignore[arg-type]
        return NONE

    if name in ("append", "add_module", "insert") and args:
        value = args[-1]
        if content.rest is not None:
            return store(Seq(content.items, UNKNOWN if content.rest != value else value))
        if name == "insert":
            return store(Seq((value, *content.items)) if isinstance(args[0], Const) and args[0].value == 0 else Seq((), UNKNOWN))
        return store(Seq((*content.items, value)))
    if name == "extend" and args:
        more = attributes.as_seq(interp, args[0])
        if more is None or content.rest is not None or len(content.items) + len(more.items) > _MAX_ITEMS:
            return store(Seq(content.items, UNKNOWN))
        return store(Seq(content.items + more.items, more.rest))
    if name == "pop":
        if content.items and content.rest is None:
            at = args[0].value if args and isinstance(args[0], Const) else -1
            if isinstance(at, int) and -len(content.items) <= at < len(content.items):
                items = list(content.items)
                value = items.pop(at)
                store(Seq(tuple(items)))
                return value
        return UNKNOWN
    if name in ("children", "modules", "__iter__", "copy", "tolist"):
        return content
    return UNKNOWN


def _dict_method(
    interp: Interpreter,
    owner: Heap | Obj,
    content: Table,
    name: str,
    args: tuple[Value, ...],
    kwargs: Kwargs,
    node: ast.expr,
) -> Value:
    key = args[0] if args else None
    if name in ("get", "pop", "setdefault") and key is not None:
        default = args[1] if len(args) > 1 else NONE
        if isinstance(key, Const | Cls):
            name_of = key.value if isinstance(key, Const) else key
            if name_of in content.entries:
                value = interp.settle(content.entries[name_of])
                if name == "pop":
                    rest = {entry: item for entry, item in content.entries.items() if entry != name_of}
                    interp.write(owner.attrs, "content", Table(rest, content.rest, content.name))  # type: ignore[arg-type]
                return value
            if content.rest is None and name == "get" and len(args) == 1 and content.name and isinstance(name_of, str):
                return NoEntry(None, name_of, content)
            return default if content.rest is None else UNKNOWN
        return UNKNOWN
    if name == "items":
        pairs = tuple(Seq((Const(k) if not isinstance(k, Value) else k, v)) for k, v in content.entries.items())
        return Seq(pairs, Seq((UNKNOWN, content.rest)) if content.rest is not None else None)
    if name == "values":
        return Seq(tuple(content.entries.values()), content.rest)
    if name == "keys":
        return Seq(tuple(Const(k) if not isinstance(k, Value) else k for k in content.entries), content.rest)
    if name == "update":
        given = args[0] if args else None
        entries = {**content.entries, **{k: v for k, v in kwargs.items() if k != "**"}}
        rest = content.rest
        if isinstance(given, Heap) and isinstance(given.content, Table):
            entries.update(given.content.entries)
            rest = given.content.rest or rest
        elif given is not None:
            rest = UNKNOWN
        interp.write(owner.attrs, "content", Table(entries, rest, content.name))  # type: ignore[arg-type]
        return NONE
    if name == "copy":
        return Heap("dict", {"content": Table(dict(content.entries), content.rest)})
    return UNKNOWN


# -- builtins -------------------------------------------------------------------------------------------------------


def _isinstance(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) != 2:
        return UNKNOWN
    answer = interp.lift(lambda value: _is_instance_of(interp, value, args[1]), args[0])
    return answer


def _is_instance_of(interp: Interpreter, value: Value, wanted: Value) -> Value:
    classes = attributes.as_seq(interp, wanted)
    options = list(classes.items) if classes is not None else [wanted]
    answers = [_one_instance(interp, value, option) for option in options]
    if True in answers:
        return Const(True)
    if answers and all(answer is False for answer in answers):
        return Const(False)
    return UNKNOWN


_PLAIN = {"tuple": tuple, "list": list, "dict": dict, "str": str, "int": int, "float": float, "bool": bool}


def _one_instance(interp: Interpreter, value: Value, cls: Value) -> bool | None:
    dotted = cls.dotted if isinstance(cls, Cls | Known) else ""
    last = dotted.rsplit(".", 1)[-1]
    if isinstance(value, Pair):
        return last in ("tuple", "Sequence", "Iterable")
    if isinstance(value, Tensor):
        return None if value.tag == "argument" else last in ("Tensor", "Parameter")
    if isinstance(value, Const):
        if last in _PLAIN:
            return isinstance(value.value, _PLAIN[last])
        return False if isinstance(cls, Cls) and value.value is None else None
    if isinstance(value, Seq):
        return last in ("tuple", "Sequence", "Iterable") if last in ("tuple", "list", "dict", "str", "int", "Sequence", "Tensor") else None  # fmt: skip
    if isinstance(value, Heap):
        return last == value.kind or last in ("Sequence", "Iterable", "Mapping") if last in ("tuple", "list", "dict", "str", "int", "Sequence", "Tensor", "Mapping") else None  # fmt: skip
    if isinstance(value, Obj) and isinstance(cls, Cls):
        if value.cls == cls:
            return True
        if value.cls.facts is not None:
            order = interp.project.mro(value.cls.facts)
            if any(entry is cls.facts or cls.facts is None and entry.dotted == cls.dotted for entry in order):
                return True
            names = {entry.dotted.rsplit(".", 1)[-1] for entry in order}
            return None if cls.facts is None and (last in names or value.opaque) else False
        same_name = value.cls.dotted.rsplit(".", 1)[-1] == last
        return None if same_name else False
    if isinstance(value, Obj | Heap) and last in ("tuple", "list", "str", "int", "Tensor"):
        return False
    return None


def _len(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = attributes.as_seq(interp, args[0]) if args else None
    if found is not None and found.rest is None:
        return Const(len(found.items))
    if args and isinstance(args[0], Heap) and isinstance(args[0].content, Table) and args[0].content.rest is None:
        return Const(len(args[0].content.entries))
    if args and isinstance(args[0], Sym):
        return Sym(Poly.atom(f"len({args[0].text})"))
    return interp.fresh("len")


def _range(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if args and all(isinstance(arg, Const) and isinstance(arg.value, int) for arg in args):
        try:
            numbers_ = range(*(arg.value for arg in args if isinstance(arg, Const)))
        except (TypeError, ValueError):
            return UNKNOWN
        if len(numbers_) <= 64:
            return Seq(tuple(Const(value) for value in numbers_))
    return Seq((), UNKNOWN)


def _getattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        name = args[1].value
        assert interp.frame is not None
        owner = interp.settle(args[0])
        if isinstance(owner, Obj) and name not in owner.attrs and len(args) > 2 and owner.cls.facts is not None:
            if interp.project.method(owner.cls.facts, name) is None and not owner.opaque:
                return interp.fresh(name)
        return interp.lift(lambda value: attributes.read(interp, interp.frame, value, name, node), owner)  # type: ignore[arg-type]
    return UNKNOWN


def _setattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) == 3 and isinstance(args[0], Obj) and isinstance(args[1], Const):
        interp.write(args[0].attrs, args[1].value, args[2])
    return NONE


def _hasattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) == 2 and isinstance(args[0], Obj) and isinstance(args[1], Const):
        if args[1].value in args[0].attrs:
            return Const(True)
    text = ast.unparse(node)
    return Sym.named(text)


def _enumerate(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = attributes.as_seq(interp, args[0]) if args else None
    if found is None:
        return Seq((), Seq((interp.fresh("index"), UNKNOWN)))
    start = args[1].value if len(args) > 1 and isinstance(args[1], Const) and isinstance(args[1].value, int) else 0
    items = tuple(Seq((Const(index + start), value)) for index, value in enumerate(found.items))
    return Seq(items, Seq((interp.fresh("index"), found.rest)) if found.rest is not None else None)


def _zip(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    columns = [attributes.as_seq(interp, arg) for arg in args]
    if not columns or any(column is None for column in columns):
        return Seq((), Seq(tuple(UNKNOWN for _ in args)))
    known = [column for column in columns if column is not None]
    if any(column.rest is not None for column in known):
        return Seq((), Seq(tuple(column.items[0] if column.items else column.rest or UNKNOWN for column in known)))
    return Seq(tuple(Seq(row) for row in zip(*(column.items for column in known), strict=False)))


def _as_list(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = attributes.as_seq(interp, args[0]) if args else Seq(())
    return Heap("list", {"content": found if found is not None else Seq((), UNKNOWN)})


def _as_tuple(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if args and isinstance(args[0], Pair):
        return args[0]
    found = attributes.as_seq(interp, args[0]) if args else Seq(())
    return found if found is not None else (args[0] if isinstance(args[0], Sym) else Seq((), UNKNOWN))


def _as_dict(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    entries: dict[Any, Value] = {key: value for key, value in kwargs.items() if key not in ("**", "*")}
    rest: Value | None = UNKNOWN if "**" in kwargs else None
    if args and isinstance(args[0], Heap) and isinstance(args[0].content, Table):
        entries = {**args[0].content.entries, **entries}
        rest = args[0].content.rest or rest
    elif args:
        rest = UNKNOWN
    return Heap("dict", {"content": Table(entries, rest)})


def _as_int(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, Const):
        try:
            return Const(int(value.value))
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
    return Sym(value.poly, value.tags - {"ratio"}) if isinstance(value, Sym) else UNKNOWN


def _sum(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = attributes.as_seq(interp, args[0]) if args else None
    if found is None or found.rest is not None or not found.items:
        return UNKNOWN
    total: Value = args[1] if len(args) > 1 else Const(0)
    for value in found.items:
        total = arithmetic.numbers(interp, ast.Add(), total, value, node, node)
    return total


def _extreme(choose: Callable[..., Any]) -> Handler:
    def handler(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
        items = args
        if len(args) == 1:
            found = attributes.as_seq(interp, args[0])
            items = found.items if found is not None and found.rest is None else ()
        if items and all(isinstance(item, Const) for item in items):
            try:
                return Const(choose(item.value for item in items if isinstance(item, Const)))
            except TypeError:
                return UNKNOWN
        tags = [item.tags for item in items if isinstance(item, Sym)]
        if tags:
            return interp.fresh("extreme", *(frozenset.union(*tags) & {PER_RANK, HEADS}))
        return UNKNOWN

    return handler


def _power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow` of numbers that stay small."""
    if abs(base) > 1e6 or abs(exponent) > 64:
        raise OverflowError
    return pow(base, exponent, modulus)


def _rounded(value: Any, digits: Any = None) -> Any:
    """`round` to a number of digits that a size can have."""
    if digits is not None and abs(digits) > 64:
        raise OverflowError
    return round(value, digits)


def _fold(function: Callable[..., Any]) -> Handler:
    def handler(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
        if args and all(isinstance(arg, Const) for arg in args):
            try:
                return Const(function(*(arg.value for arg in args if isinstance(arg, Const))))
            except (TypeError, ValueError, ArithmeticError):
                return UNKNOWN
        return UNKNOWN

    return handler


def _bool(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    truth = conditions.truth_of(interp, args[0]) if args else False
    if truth is not None:
        return Const(truth)
    return args[0] if isinstance(args[0], Sym | Choice) else UNKNOWN


def _type(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return interp.lift(lambda value: value.cls if isinstance(value, Obj) else UNKNOWN, args[0]) if args else UNKNOWN


def _map(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    columns = [attributes.as_seq(interp, arg) for arg in args[1:]]
    known = [column for column in columns if column is not None and column.rest is None]
    if not known or len(known) < len(columns):
        return Seq((), UNKNOWN)
    rows = list(zip(*(column.items for column in known), strict=False))[:64]
    return Seq(tuple(calls.call(interp, args[0], row, {}, node) for row in rows))


def _reversed(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = attributes.as_seq(interp, args[0]) if args else None
    return Seq(found.items[::-1]) if found is not None and found.rest is None else Seq((), UNKNOWN)


def _callable(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return Const(True) if args and isinstance(args[0], Func | Cls | Obj) else UNKNOWN


def _print(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return NONE


_BUILTINS: dict[str, Handler] = {
    "isinstance": _isinstance,
    "len": _len,
    "range": _range,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _as_list,
    "tuple": _as_tuple,
    "dict": _as_dict,
    "int": _as_int,
    "sum": _sum,
    "max": _extreme(max),
    "min": _extreme(min),
    "abs": _fold(abs),
    "round": _fold(_rounded),
    "str": _fold(str),
    "float": _fold(float),
    "bool": _bool,
    "type": _type,
    "map": _map,
    "reversed": _reversed,
    "callable": _callable,
    "print": _print,
    "pow": _fold(_power),
    "sorted": _as_list,
    "iter": _as_tuple,
}
