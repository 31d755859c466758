"""What torch functions and tensor methods do to the origin of a value."""

from __future__ import annotations

import ast

from ..language import tr
from .flow import Env
from .flow_calls import Calls
from .origin import Origin, number
from .torch_names import BOOLEANS, DTYPES, FACTORIES, INTEGERS, KEPT, LIKE, MOVES, NUMBERS, SPLITS, VIEWS

Kwargs = dict[str, Origin]


def torch_function(calls: Calls, name: str, node: ast.Call, args: list[Origin], kwargs: Kwargs) -> Origin:
    """`torch.name(…)`, also numpy, math and einops."""
    flow = calls.flow
    if name in FACTORIES:
        return _made(calls, name, node, args, kwargs)
    args = [calls.as_tensor(arg, node, tr("it is passed to `%(name)s`", name=name)) for arg in args]
    if args and (args[0].is_tensor or name in LIKE):
        return on_tensor(calls, args[0], name, node, args[1:], kwargs)
    if name in NUMBERS and all(arg.kind in ("number", "self", "unknown") for arg in args):
        return number("int", any(arg.batch for arg in args))
    result = calls.result(args, kwargs)
    return flow.fresh("tensor", received=result.received) if name in ("cat", "concat", "stack") else result


def method(
    calls: Calls,
    owner: Origin,
    func: ast.Attribute,
    node: ast.Call,
    args: list[Origin],
    kwargs: Kwargs,
    env: Env,
) -> Origin:
    """`owner.name(…)`"""
    name = func.attr
    if owner.kind == "received":
        if name in ("append", "pop", "copy", "index", "insert", "extend"):
            calls.flow.trace.is_open = True
            return calls.item(owner, 0)
        owner = calls.as_tensor(owner, node, tr("`.%(name)s` is called on it", name=name))
    if owner.kind in ("list", "dict", "tuple"):
        if name in ("append", "extend", "insert", "update") and isinstance(func.value, ast.Name):
            for arg in args:
                calls.flow.pour(func.value.id, arg, env)
        return calls.result([owner, *args], kwargs)
    if name.endswith("_") and isinstance(func.value, ast.Name) and func.value.id in env:
        for arg in args:
            calls.flow.pour(func.value.id, arg, env)
        return env[func.value.id]
    return on_tensor(calls, owner, name, node, args, kwargs)


def on_tensor(
    calls: Calls, owner: Origin, name: str, node: ast.Call, args: list[Origin], kwargs: Kwargs
) -> Origin:
    """An operation whose first operand is `owner`."""
    flow = calls.flow
    if name == "size":
        return number(batch=args[0].value == 0) if args else Origin("shape", constant=True)
    if name in ("item", "numel", "dim", "stride", "element_size", "data_ptr"):
        return number()
    if name == "tolist":
        return Origin("numbers")
    if name in ("contiguous", "clone"):
        return _copy(calls, owner, name, node)
    dtype = _dtype_of(name, node)
    carried = frozenset().union(
        owner.carries, *(arg.carries for arg in args), *(arg.carries for arg in kwargs.values())
    )
    if dtype in ("int", "bool") or name == "detach":
        carried = frozenset()
    if name in KEPT or name in ("long", "int", "bool"):
        changed = dtype and dtype != owner.dtype
        return owner.but(
            received=carried, dtype=dtype or owner.dtype, passes=None if changed or name == "detach" else owner.passes,
            serial=next(flow.serials) if changed else owner.serial,
        )  # fmt: skip
    if name in MOVES:
        return _spread(calls, owner, name, node, args, carried)
    if name == "repeat":
        if any(arg.batch for arg in args[:1]) and (owner.constant or owner.is_mask or owner.kind == "self"):
            flow.trace.batch_uses.append(flow.see(node, name))
        return flow.fresh(
            "tensor", received=carried, dtype=owner.dtype, is_mask=owner.is_mask, constant=owner.constant
        )
    if name in VIEWS:
        shape = owner.contiguous if name in ("squeeze", "unsqueeze") else None
        return owner.but(
            received=owner.carries, passes=None, serial=next(flow.serials), contiguous=shape, batch=False,
            how=owner.how if shape is False else "", name="",
        )  # fmt: skip
    if name in SPLITS:
        return flow.fresh("result", received=carried)
    if name in LIKE:
        return flow.fresh("tensor", constant=True, dtype=dtype or "like", node=node)
    if name in INTEGERS:
        return flow.fresh("tensor", dtype="int")
    if name in BOOLEANS:
        return flow.fresh("tensor", dtype="bool")
    kept = name in ("flip", "roll", "clamp", "relu", "masked_fill", "mul", "add", "sub", "div", "where")
    return flow.fresh("tensor", received=carried, dtype=owner.dtype if kept and owner.dtype != "bool" else "")


def _spread(
    calls: Calls, owner: Origin, name: str, node: ast.Call, args: list[Origin], carried: frozenset[int]
) -> Origin:
    if name.startswith("expand") and any(arg.batch for arg in args[:1]):
        if owner.constant or owner.is_mask or owner.kind == "self":
            calls.flow.trace.batch_uses.append(calls.flow.see(node, name))
    if not owner.is_tensor:
        return calls.flow.fresh("unknown", received=carried)
    return calls.moved(owner, name, node)


def _copy(calls: Calls, owner: Origin, name: str, node: ast.Call) -> Origin:
    """`contiguous()` and `clone()`: the second one of the same tensor is a second copy."""
    flow = calls.flow
    if not owner.is_tensor:
        return flow.fresh("unknown", received=owner.carries)
    if name == "contiguous" and owner.contiguous:
        return owner
    seen = flow.see(node, name)
    if owner.serial and owner.serial in flow.first_copy and name == "contiguous":
        first = flow.first_copy[owner.serial]
        if first.node is not node:
            flow.trace.copies.append((seen, first))
    if owner.serial and name == "contiguous":
        flow.first_copy.setdefault(owner.serial, seen)
    settled = True if name == "contiguous" else owner.contiguous
    return owner.but(serial=next(flow.serials), contiguous=settled, how="" if settled else owner.how)


def _made(calls: Calls, name: str, node: ast.Call, args: list[Origin], kwargs: Kwargs) -> Origin:
    """A tensor made by a factory: of which type, and whether from numbers alone."""
    flow = calls.flow
    sizes: list[Origin] = []
    if name in ("zeros", "ones", "full", "empty", "rand", "randn"):
        sizes = list(args[0].items) if args and args[0].kind in ("tuple", "list") and args[0].items else args
    dtype = _written_dtype(node)
    if not dtype and name == "tensor" and args:
        parts = args[0].items if args[0].items is not None else (args[0],)
        if parts and all(part.kind == "number" for part in parts):
            dtype = "int" if all(part.dtype == "int" for part in parts) else ""
            if all(type(part.value) is bool for part in parts):
                dtype = "bool"
    elif not dtype and name == "full" and len(args) > 1 and args[1].kind == "number":
        dtype = "bool" if type(args[1].value) is bool else "int" if args[1].dtype == "int" else ""
    elif (
        not dtype
        and name == "arange"
        and args
        and all(arg.kind == "number" and arg.dtype == "int" for arg in args)
    ):
        dtype = "int"
    carried = (
        frozenset().union(*(arg.carries for arg in args)) if dtype not in ("int", "bool") else frozenset()
    )
    known = not carried and name not in ("rand", "randn", "as_tensor", "from_numpy")
    return flow.fresh(
        "tensor", received=carried, dtype=dtype, constant=known, contiguous=True, node=node, how=name,
        batch=any(size.batch for size in sizes[:1]),
    )  # fmt: skip


def _dtype_of(name: str, node: ast.Call) -> str:
    if name in ("to", "type") and node.args:
        found = _from_expression(node.args[0])
        if found:
            return found
    if name in ("float", "half", "bfloat16", "bool", "long", "int", "double"):
        return DTYPES[name]
    return _written_dtype(node)


def _written_dtype(node: ast.Call) -> str:
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            return _from_expression(keyword.value) or "unknown"
    return ""


def _from_expression(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return DTYPES.get(node.attr, "")
    return (
        DTYPES.get(node.id, "") if isinstance(node, ast.Name) and node.id in ("bool", "int", "float") else ""
    )
