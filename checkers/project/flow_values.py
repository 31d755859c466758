"""Expressions of a stage's forward: names, attributes, items, arithmetic."""

from __future__ import annotations

import ast

from ..language import tr
from .flow import Env, Flow
from .origin import NOTHING, UNKNOWN, Origin, join, number


class Values:
    """Expressions other than calls."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def value(self, node: ast.expr, env: Env) -> Origin:
        flow = self.flow
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            return env.get(node.id, UNKNOWN.but(name=node.id))
        if isinstance(node, ast.Attribute):
            return self._attribute(node, env)
        if isinstance(node, ast.Call):
            return self.call(node, env)
        if isinstance(node, ast.Tuple | ast.List):
            if any(isinstance(part, ast.Starred) for part in node.elts):
                parts = [flow.value(p.value if isinstance(p, ast.Starred) else p, env) for p in node.elts]
                return UNKNOWN.but(received=frozenset().union(*(part.carries for part in parts)))
            items = tuple(flow.value(part, env) for part in node.elts)
            return Origin(
                "tuple" if isinstance(node, ast.Tuple) else "list",
                items=items,
                node=node,
                constant=all(i.constant for i in items),
            )
        if isinstance(node, ast.Dict):
            return Origin("dict", items=tuple(flow.value(part, env) for part in node.values), node=node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env)
        if isinstance(node, ast.IfExp):
            answer = flow.decide(node.test, env)
            if answer is not None:
                return flow.value(node.body if answer else node.orelse, env)
            return join(flow.value(node.body, env), flow.value(node.orelse, env))
        if isinstance(node, ast.BinOp):
            parts = [
                self.as_tensor(flow.value(side, env), side, tr("it is an operand of arithmetic"))
                for side in (node.left, node.right)
            ]
            return flow.mixed(parts)
        if isinstance(node, ast.UnaryOp):
            return flow.value(node.operand, env).but(passes=None, value=None)
        if isinstance(node, ast.Compare):
            parts = [flow.value(part, env) for part in (node.left, *node.comparators)]
            if any(part.is_tensor for part in parts):
                return flow.fresh("tensor", dtype="bool")
            return UNKNOWN
        if isinstance(node, ast.BoolOp):
            parts = [flow.value(part, env) for part in node.values]
            return UNKNOWN.but(received=frozenset().union(*(part.carries for part in parts)))
        if isinstance(node, ast.NamedExpr):
            origin = flow.value(node.value, env)
            flow.bind(node.target, origin, env)
            return origin
        found = frozenset[int]()
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in env:
                found |= env[part.id].carries
        return UNKNOWN.but(received=found)

    def call(self, node: ast.Call, env: Env) -> Origin:
        """Where the result of a call comes from."""
        raise NotImplementedError

    def _constant(self, node: ast.Constant) -> Origin:
        if node.value is None:
            return NOTHING
        if isinstance(node.value, str):
            return Origin("text", constant=True, value=node.value)
        return number("float" if isinstance(node.value, float) else "int", value=node.value)

    def _attribute(self, node: ast.Attribute, env: Env) -> Origin:
        flow = self.flow
        owner = flow.value(node.value, env)
        if owner.kind == "self" and not owner.name and isinstance(node.value, ast.Name):
            if node.attr in flow.attrs:
                if node.attr in getattr(flow, "given", ()) and not flow.is_testing:
                    flow.trace.reads.append(flow.see(node))
                return flow.attrs[node.attr]
            return Origin("self", name=node.attr, is_mask=False)
        if owner.kind == "received" and node.attr in ("shape", "device", "dtype", "T"):
            self.as_tensor(owner, node, tr("`.%(node)s` is read from it", node=node.attr))
        if node.attr in ("shape",):
            return Origin("shape", node=node, constant=True, dtype=owner.dtype)
        if node.attr in ("device", "dtype", "ndim", "is_cuda"):
            return Origin("object" if node.attr != "ndim" else "number", constant=True)
        if node.attr in ("T", "mT") and owner.is_tensor:
            return self.moved(owner, node.attr, node)
        if owner.kind == "self":
            return Origin("self", name=f"{owner.name}.{node.attr}")
        return UNKNOWN.but(received=owner.carries)

    def item(self, origin: Origin, index: int) -> Origin:
        """One element of something that is unpacked."""
        if origin.kind == "received":
            serial = -1 - index
            return Origin("tensor", frozenset({index}), index, serial, serial, True, "like")
        if (
            origin.kind in ("tuple", "list")
            and origin.items is not None
            and -len(origin.items) <= index < len(origin.items)
        ):
            return origin.items[index]
        if origin.kind == "shape":
            return number(batch=index == 0)
        if origin.kind == "numbers":
            return number()
        return self.flow.fresh(
            origin.kind if origin.is_tensor else "unknown", received=origin.carries, contiguous=None
        )

    def _subscript(self, node: ast.Subscript, env: Env) -> Origin:
        owner, where = self.flow.value(node.value, env), node.slice
        self.flow.value(where, env) if isinstance(where, ast.Call | ast.Attribute) else None
        position = _integer(where)
        if owner.kind in ("received", "tuple", "list") and position is not None:
            return self.item(owner, position)
        if owner.kind == "received":
            self.flow.trace.is_open = True
            return UNKNOWN
        if owner.kind in ("shape", "numbers"):
            return (
                number(batch=position == 0 and owner.kind == "shape")
                if position is not None
                else Origin("shape", constant=True)
            )
        if owner.is_tensor or owner.kind == "unknown":
            cut = _cuts_inside(where)
            return self.flow.fresh(
                owner.kind, received=owner.carries, dtype=owner.dtype, is_mask=owner.is_mask, constant=owner.constant,
                contiguous=False if cut and owner.is_tensor else None, how=tr("a slice") if cut else "", node=node,
            )  # fmt: skip
        if owner.kind == "self":
            return Origin("self", name=owner.name)
        return UNKNOWN.but(received=owner.carries)

    def as_tensor(self, origin: Origin, node: ast.AST, how: str) -> Origin:
        """A value used as a tensor; the received list is none."""
        if origin.kind == "received" and self.flow.receives:
            self.flow.trace.whole_uses.append(self.flow.see(node, how))
            return self.item(origin, 0)
        return origin

    def moved(self, owner: Origin, name: str, node: ast.AST) -> Origin:
        return self.flow.fresh(
            "tensor", received=owner.carries, dtype=owner.dtype, contiguous=False, how=f"`{name}`",
            is_mask=owner.is_mask, constant=owner.constant, node=node,
        )  # fmt: skip


def _integer(node: ast.expr) -> int | None:
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return -node.operand.value if isinstance(node.operand.value, int) else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _cuts_inside(where: ast.expr) -> bool:
    """Whether an index takes part of a dimension behind the first."""
    parts = where.elts[1:] if isinstance(where, ast.Tuple) else []
    for part in parts:
        if isinstance(part, ast.Slice) and (
            part.lower is not None or part.upper is not None or part.step is not None
        ):
            return True
        if _integer(part) is not None:
            return True
    return isinstance(where, ast.Slice) and where.step is not None
