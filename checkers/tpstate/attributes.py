"""Reading attributes and items, unpacking and storing."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from ..language import tr
from ..project.project import NamespaceRef
from . import building, calls, configurations, expressions, lookups, tensors
from .callables import Bound, Func, ObjMethod, Partial, Super
from .choices import Choice
from .events import NoneUsed, PairUsed, TensorKeyed
from .frames import Frame
from .groups import is_size_of_group
from .interpreter import Interpreter
from .states import State
from .symbols import Poly
from .values import (
    HEADS,
    TP,
    UNKNOWN,
    Cls,
    Const,
    Heap,
    Known,
    Mod,
    NothingReturned,
    Obj,
    Pair,
    Seq,
    Sym,
    Tensor,
    Unknown,
    Value,
)

TP_SIZE_NAMES = frozenset(
    {
        "tensor_model_parallel_size",
        "tensor_parallel_size",
        "tp_size",
        "tp_world_size",
        "attn_tp_size",
        "model_parallel_size",
        "tp",
        "tp_degree",
    }
)

ADDS_A_CHILD = frozenset({"add_module", "register_module"})


def tags_for(name: str) -> tuple[str, ...]:
    """What a name says of a number: the TP size, or a head count."""
    if name in TP_SIZE_NAMES:
        return (TP,)
    return (HEADS,) if "head" in name and "dim" not in name and "size" not in name else ()


def read(interp: Interpreter, frame: Frame, owner: Value, attr: str, node: ast.expr) -> Value:
    """`owner.attr`"""
    kind = type(owner)
    if kind is Obj:
        return _of_object(interp, frame, owner, attr, node)  # type: ignore[arg-type]
    if kind is Known:
        return lookups.external(f"{owner.dotted}.{attr}")  # type: ignore[attr-defined]
    if kind is Unknown:
        return Sym.named(attr, TP) if attr in TP_SIZE_NAMES else UNKNOWN
    if kind is Sym:
        derived = _derived(interp, owner, attr, node) if owner.tags else None  # type: ignore[attr-defined, arg-type]
        # What cannot be worked out is still one value, of that name.
        return _field(_short(owner), attr, node) if derived in (None, UNKNOWN) else derived  # type: ignore[arg-type]
    if isinstance(owner, Tensor):
        if attr == "get" and owner.tag == "argument":
            return UNKNOWN  # an argument that is a dict after all
        if attr == "x":
            if owner.tag == "argument":
                return Tensor(State.UNKNOWN, role="x")
            interp.emit(TensorKeyed, node, text=".x")
        return tensors.attribute(interp, owner, attr, node)
    if isinstance(owner, Mod):
        return _of_module(interp, frame, owner, attr)
    if isinstance(owner, Cls):
        return _of_class(interp, owner, attr)
    if isinstance(owner, Heap):
        return ObjMethod(owner, attr)
    if isinstance(owner, Pair):
        if attr in ("index", "count", "__len__"):
            return ObjMethod(owner, attr)
        interp.emit(PairUsed, node, pair=owner, how=tr("`.%(attr)s` is read from it", attr=attr))
        return read(interp, frame, interp.settle(owner.output), attr, node)
    if isinstance(owner, Super):
        return _of_super(interp, owner, attr)
    if isinstance(owner, Const) and (isinstance(owner.value, str) or attr == "item"):
        return ObjMethod(owner, attr)
    if isinstance(owner, NothingReturned):
        interp.emit(NoneUsed, node, forward=owner.forward, how=tr("`.%(attr)s` is read from it", attr=attr))
    if isinstance(owner, Partial) and attr == "func":
        return owner.func
    if isinstance(owner, Seq):
        return ObjMethod(owner, attr)
    return UNKNOWN


def _derived(interp: Interpreter, owner: Sym, attr: str, node: ast.expr) -> Value | None:
    """What a property, or `__post_init__`, of an annotated configuration makes of its fields."""
    found = configurations.derived(interp.project, owner, attr)
    if found is None:
        return None
    holder, made = found
    if isinstance(made, ast.FunctionDef):
        return method_value(interp, holder, made, owner, node)
    frame = Frame(holder.module, {"self": owner}, holder)
    outer, interp.frame = interp.frame, frame
    try:
        return expressions.evaluate(interp, frame, made)
    finally:
        interp.frame = outer


def _short(owner: Sym) -> str:
    return owner.text if len(owner.text) < 120 else f"{hash(owner.text)}"


def _of_object(interp: Interpreter, frame: Frame, owner: Obj, attr: str, node: ast.expr) -> Value:
    held = owner.attrs.get(attr)
    if held is not None:
        return interp.settle(held) if type(held) is Choice else held
    if attr in ADDS_A_CHILD:
        return ObjMethod(owner, attr)
    if is_spec(owner) and attr in owner.args:
        return interp.settle(owner.args[attr])
    if attr == "forward" and owner.provider is not None and owner is not frame.vars.get("self"):
        return owner  # `layer.forward(x)` is `layer(x)`
    if attr in ("weight", "bias") and owner.provider is not None:
        interp.held[owner.serial] = owner
        return Tensor(State.UNKNOWN, role=f"{attr} of layer", tag=str(owner.serial))
    facts = owner.cls.facts
    if facts is not None:
        found = interp.project.method(facts, attr)
        if found is not None:
            return method_value(interp, found[0], found[1], owner, node)
        for entry in interp.project.mro(facts):
            if isinstance(entry, ClassFacts) and attr in entry.constants:
                return module_expression(interp, entry, entry.constants[attr])
        if attr == "__class__":
            return owner.cls
        delegate = _delegate(interp, owner, attr, node)
        if delegate is not None:
            return delegate
    if facts is None and _is_config(owner) and not attr.startswith("__"):
        given = owner.args.get(attr)
        return interp.settle(given) if given is not None else _field(_label(owner), attr, node)
    if owner.attrs.get("content") is not None or facts is None:
        return ObjMethod(owner, attr)
    if owner.unfinished:  # what a constructor is given, it keeps under the same name
        return interp.settle(owner.args[attr]) if attr in owner.args else UNKNOWN
    return _field(_label(owner), attr, node)


def _field(owner: str, attr: str, node: ast.expr) -> Sym:
    if is_size_of_group(node):
        return Sym.named("tp", TP)
    return Sym(Poly.atom(f"{owner}.{attr}"), frozenset(tags_for(attr)))


def _is_config(owner: Obj) -> bool:
    """Whether an object of a library only holds what it was given: `TransformerConfig(hidden_size=…)`."""
    return owner.cls.dotted.endswith(("Config", "Args", "Arguments")) and "**" not in owner.args


def is_spec(owner: Obj) -> bool:
    """Whether an object only names layers: a library's `ModuleSpec`, or its `MLPSubmodules`."""
    return owner.cls.facts is None and owner.cls.dotted.endswith(("Spec", "Submodules"))


def _label(owner: Obj) -> str:
    return f"{owner.cls.dotted.rsplit('.', 1)[-1]}#{owner.serial}"


def _delegate(interp: Interpreter, owner: Obj, attr: str, node: ast.expr) -> Value | None:
    """An attribute served by a wrapper's `__getattr__` from the one module it holds."""
    facts = owner.cls.facts
    if facts is None or attr.startswith("__") or interp.project.method(facts, "__getattr__") is None:
        return None
    inner = {id(value): value for value in owner.attrs.values() if isinstance(value, Obj)}
    if len(inner) != 1:
        return None
    held = next(iter(inner.values()))
    assert interp.frame is not None
    return read(interp, interp.frame, held, attr, node) if attr in held.attrs else None


def module_expression(interp: Interpreter, cls: ClassFacts, node: ast.expr) -> Value:
    """A class-level value, evaluated in the module of its class."""
    key = (id(cls), f".{node.lineno}:{node.col_offset}")
    if key not in interp.globals:
        interp.globals[key] = UNKNOWN
        frame = Frame(cls.module)
        outer, interp.frame = interp.frame, frame
        try:
            interp.globals[key] = expressions.evaluate(interp, frame, node)
        finally:
            interp.frame = outer
    return interp.globals[key]


def method_value(
    interp: Interpreter, holder: ClassFacts, method: ast.FunctionDef, owner: Value, node: ast.expr
) -> Value:
    """A method read from an object: bound, static, of the class, or a property already computed."""
    names = {as_code(decorator).rsplit(".", 1)[-1] for decorator in method.decorator_list}
    func = Func(method, holder.module, None, holder)
    if names & {"property", "cached_property"}:
        return calls.call(interp, Bound(func, owner), (), {}, node)
    if "staticmethod" in names:
        return func
    if "classmethod" in names:
        return Bound(func, owner.cls if isinstance(owner, Obj) else owner)
    return Bound(func, owner)


def _of_module(interp: Interpreter, frame: Frame, owner: Mod, attr: str) -> Value:
    if owner.facts is not None and owner.facts.binding(attr) is not None:
        return lookups.global_value(interp, owner.facts, attr)
    ref = interp.project.attribute(
        owner.facts or NamespaceRef(owner.dotted), attr, owner.facts or frame.module
    )
    return lookups.of_ref(interp, ref, attr) if ref is not None else UNKNOWN


def _of_class(interp: Interpreter, owner: Cls, attr: str) -> Value:
    if attr == "__name__":
        return Const(owner.dotted.rsplit(".", 1)[-1])
    if owner.facts is None:
        return lookups.external(f"{owner.dotted}.{attr}")
    found = interp.project.method(owner.facts, attr)
    if found is not None:
        names = {as_code(decorator) for decorator in found[1].decorator_list}
        func = Func(found[1], found[0].module, None, found[0])
        return Bound(func, owner) if "classmethod" in names else func
    for entry in interp.project.mro(owner.facts):
        if isinstance(entry, ClassFacts) and attr in entry.constants:
            return module_expression(interp, entry, entry.constants[attr])
    return _applied(interp, owner.facts) if attr == "apply" else UNKNOWN


def _applied(interp: Interpreter, cls: ClassFacts) -> Value:
    """What `apply` of a function of autograd runs: its forward, behind a context."""
    forward = interp.project.method(cls, "forward")
    if forward is None or not _is_autograd_function(interp, cls):
        return UNKNOWN
    context = () if interp.project.method(cls, "setup_context") is not None else (UNKNOWN,)
    return Partial(Func(forward[1], forward[0].module, None, forward[0]), context, {})


def _is_autograd_function(interp: Interpreter, cls: ClassFacts) -> bool:
    return any(
        not isinstance(entry, ClassFacts)
        and entry.dotted in ("torch.autograd.Function", "torch.autograd.function.Function")
        for entry in interp.project.mro(cls)
    )


def _of_super(interp: Interpreter, owner: Super, attr: str) -> Value:
    cls = owner.obj.cls if isinstance(owner.obj, Obj) else owner.obj
    if not isinstance(cls, Cls) or cls.facts is None:
        return UNKNOWN
    order = interp.project.mro(cls.facts)
    after = order[order.index(owner.after) + 1 :] if owner.after in order else order[1:]
    for entry in after:
        if isinstance(entry, ClassFacts):
            if building.provider_of_class(interp, entry) is not None and attr in (
                "__init__",
                "forward",
                "__call__",
            ):
                return ObjMethod(owner, attr)
            if attr in entry.methods:
                return method_value(
                    interp,
                    entry,
                    entry.methods[attr],
                    owner.obj,
                    entry.node.bases[0]
                    if entry.node.bases
                    else ast.Constant(None, lineno=entry.node.lineno, col_offset=0),
                )
    if attr == "apply" and isinstance(owner.obj, Cls) and _applied(interp, cls.facts) is not UNKNOWN:
        return _applied(interp, cls.facts)
    return ObjMethod(owner, attr)
