"""Expressions of a stage's forward: attributes, items, calls of torch, of submodules and of helpers."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from .flow import Env, Flow
from .origin import NOTHING, UNKNOWN, Origin, join, looks_like_mask, number
from .project import External, FunctionRef, dotted_name

MOVES = frozenset(
    "transpose permute swapaxes swapdims movedim moveaxis expand expand_as broadcast_to narrow unfold t rearrange".split()
)
VIEWS = frozenset("view reshape flatten unflatten squeeze unsqueeze view_as reshape_as contiguous".split())
SPLITS = frozenset("split chunk unbind tensor_split".split())
FACTORIES = frozenset(
    "tensor zeros ones full empty arange linspace rand randn as_tensor eye from_numpy".split()
)
LIKE = frozenset(
    "zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty new_tensor".split()
)
INTEGERS = frozenset(
    "argmax argmin argsort nonzero bincount randint long int multinomial searchsorted bucketize".split()
)
BOOLEANS = frozenset(
    "bool eq ne gt ge lt le isnan isfinite isinf logical_and logical_or logical_not any all".split()
)
NUMBERS = frozenset(
    "item numel dim size_of ndimension len int float bool round abs min max sum ceil floor prod".split()
)
KEPT = frozenset(
    "to type cuda cpu float half bfloat16 double type_as clone detach requires_grad_ pin_memory".split()
)
_OF_BUFFERS = MOVES | VIEWS | SPLITS | {"repeat", "size", "clone", "float", "type_as"}
_DTYPES = {
    "bool": "bool", "long": "int", "int": "int", "int32": "int", "int64": "int", "int16": "int", "int8": "int",
    "uint8": "int", "float32": "float32", "float": "float32", "half": "half", "float16": "half", "bfloat16": "half",
    "double": "float64", "float64": "float64", "dtype": "like", "params_dtype": "like", "pipeline_dtype": "like",
}  # fmt: skip


class Calls:
    """The expression half of a Flow."""

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
            return self._call(node, env)
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
                self._tensor(flow.value(side, env), side, "it is an operand of arithmetic")
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

    def _constant(self, node: ast.Constant) -> Origin:
        if node.value is None:
            return NOTHING
        if isinstance(node.value, str):
            return Origin("text", constant=True)
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
            self._tensor(owner, node, f"`.{node.attr}` is read from it")
        if node.attr in ("shape",):
            return Origin("shape", node=node, constant=True, dtype=owner.dtype)
        if node.attr in ("device", "dtype", "ndim", "is_cuda"):
            return Origin("object" if node.attr != "ndim" else "number", constant=True)
        if node.attr in ("T", "mT") and owner.is_tensor:
            return self._moved(owner, node.attr, node)
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
                contiguous=False if cut and owner.is_tensor else None, how="a slice" if cut else "", node=node,
            )  # fmt: skip
        if owner.kind == "self":
            return Origin("self", name=owner.name)
        return UNKNOWN.but(received=owner.carries)

    def _tensor(self, origin: Origin, node: ast.AST, how: str) -> Origin:
        """A value used as a tensor; the received list is none."""
        if origin.kind == "received" and self.flow.receives:
            self.flow.trace.whole_uses.append(self.flow.see(node, how))
            return self.item(origin, 0)
        return origin

    def _moved(self, owner: Origin, name: str, node: ast.AST) -> Origin:
        return self.flow.fresh(
            "tensor", received=owner.carries, dtype=owner.dtype, contiguous=False, how=f"`{name}`", is_mask=owner.is_mask,
            constant=owner.constant, node=node,
        )  # fmt: skip

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> Origin:
        from .flow_torch import method, torch_function

        flow, func = self.flow, node.func
        args = [flow.value(part.value if isinstance(part, ast.Starred) else part, env) for part in node.args]
        kwargs = {part.arg or "**": flow.value(part.value, env) for part in node.keywords}
        dotted = dotted_name(func) or ""
        last = func.attr if isinstance(func, ast.Attribute) else dotted
        if last.endswith("checkpoint") and args and dotted_name(node.args[0]) is not None:
            return self._checkpoint(node, args, env)
        if isinstance(func, ast.Name) and func.id not in env:
            return self._plain(func.id, node, args, kwargs)
        root = dotted.split(".")[0]
        if root and root not in env and root != "self":
            return (
                torch_function(self, last, node, args, kwargs)
                if self._is_library(dotted)
                else self._plain(dotted, node, args, kwargs)
            )
        if isinstance(func, ast.Attribute):
            owner = flow.value(func.value, env)
            if owner.kind == "self" and not owner.name:
                return self.of_self(func.attr, node, args, kwargs)
            if owner.kind == "self":
                if func.attr == "set_input_tensor":
                    carried = frozenset({0}) if any(a.kind == "received" for a in args) else frozenset[int]()
                    flow.trace.fed[owner.name] = carried.union(*(a.carries for a in args))
                    return NOTHING
                if func.attr not in _OF_BUFFERS:
                    return self.module_call(owner.name, node, args, kwargs)
            return method(self, owner, func, node, args, kwargs, env)
        callee = flow.value(func, env)
        if callee.kind == "self":
            return self.module_call(callee.name, node, args, kwargs)
        return self.result(args, kwargs)

    def _is_library(self, dotted: str) -> bool:
        ref = self.flow.project.resolve(self.flow.module, dotted)
        return isinstance(ref, External) and ref.dotted.split(".")[0] in ("torch", "numpy", "math", "einops")

    def _checkpoint(self, node: ast.Call, args: list[Origin], env: Env) -> Origin:
        """Activation checkpointing runs its function on the arguments behind the flag."""
        target = args[0]
        inner = [arg for arg in args[1:] if not (arg.kind == "number" and arg.value in (True, False))]
        if target.kind == "self" and target.name:
            self.flow.trace.checkpointed.add(target.name.split(".")[0])
            found = self.flow.project.method(self.flow.cls, target.name)
            if found is not None:
                return self.of_self(target.name, node, inner, {})
            return self.module_call(target.name, node, inner, {}, is_checkpointed=True)
        return self.result(inner, {})

    def _plain(self, dotted: str, node: ast.Call, args: list[Origin], kwargs: dict[str, Origin]) -> Origin:
        if dotted in ("tuple", "list") and len(args) == 1:
            first = args[0]
            return (
                first
                if first.kind == "received"
                else first.but(kind=dotted)
                if first.items is not None
                else UNKNOWN.but(received=first.carries)
            )
        if dotted == "dict":
            return Origin("dict", items=tuple(kwargs.values()), node=node)
        if dotted in ("str", "repr", "format"):
            return Origin("text")
        if dotted == "range":
            return Origin("range")
        if dotted in NUMBERS:
            return (
                number("float" if dotted == "float" else "int", any(arg.batch for arg in args))
                if not any(a.is_tensor for a in args) or dotted in ("int", "float", "len", "bool")
                else self.result(args, kwargs)
            )
        if (
            dotted == "getattr"
            and len(args) > 1
            and args[0].kind == "self"
            and isinstance(node.args[1], ast.Constant)
        ):
            return Origin("self", name=f"{args[0].name}.{node.args[1].value}".lstrip("."))
        ref = self.flow.project.resolve(self.flow.module, dotted)
        if isinstance(ref, FunctionRef):
            found = self.flow.inline(ref.module, ref.node, _bound(ref.node, args, kwargs, 0))
            if found is not None:
                is_mask = looks_like_mask(ref.node.name) and found.kind not in (
                    "number",
                    "none",
                    "tuple",
                    "text",
                )
                return found.but(is_mask=True) if is_mask else found
        if isinstance(ref, ClassFacts):
            return Origin("object", received=self.result(args, kwargs).received, node=node)
        if isinstance(ref, External) and ref.dotted.split(".")[0] in ("torch", "numpy", "math", "einops"):
            from .flow_torch import torch_function

            return torch_function(self, ref.dotted.rsplit(".", 1)[-1], node, args, kwargs)
        return self.result(args, kwargs, is_mask=looks_like_mask(dotted.rsplit(".", 1)[-1]))

    def of_self(self, name: str, node: ast.Call, args: list[Origin], kwargs: dict[str, Origin]) -> Origin:
        """`self.name(…)`: a method of the class, or a submodule."""
        found = self.flow.project.method(self.flow.cls, name)
        if found is None:
            return self.module_call(name, node, args, kwargs)
        static = any(ast.unparse(d) == "staticmethod" for d in found[1].decorator_list)
        inlined = self.flow.inline(
            found[0].module, found[1], _bound(found[1], args, kwargs, 0 if static else 1)
        )
        result = inlined if inlined is not None else self.result(args, kwargs)
        is_mask = looks_like_mask(name) and result.kind not in ("number", "none", "tuple", "text")
        return result.but(is_mask=True) if is_mask else result

    def module_call(
        self,
        name: str,
        node: ast.Call,
        args: list[Origin],
        kwargs: dict[str, Origin],
        is_checkpointed: bool = False,
    ) -> Origin:
        attr = name.split(".")[0]
        for arg, part in zip(args, node.args, strict=False):
            if arg.kind == "received":
                self._tensor(arg, part, f"it is passed to `self.{attr}`")
        if not is_checkpointed:
            self.flow.trace.plain_calls.append(self.flow.see(node, attr))
        fed = self.flow.trace.fed.get(attr, frozenset()) if self.flow.receives else frozenset[int]()
        return self.result(args, kwargs, extra=fed)

    def result(
        self,
        args: list[Origin],
        kwargs: dict[str, Origin],
        extra: frozenset[int] = frozenset(),
        is_mask: bool = False,
    ) -> Origin:
        """What some code made of its arguments."""
        carried = extra
        for arg in (*args, *kwargs.values()):
            carried |= arg.carries
            if arg.kind == "received":
                self.flow.trace.is_open = True
        return self.flow.fresh("result", received=carried, is_mask=is_mask)


def _bound(function: ast.FunctionDef, args: list[Origin], kwargs: dict[str, Origin], skip: int) -> Env:
    names = [arg.arg for arg in function.args.args]
    env: Env = dict(zip(names[skip:], args, strict=False))
    env.update({name: value for name, value in kwargs.items() if name != "**"})
    missing = [name for name in names[skip:] if name not in env]
    optional = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    for name in missing:
        default = optional.get(name)
        env[name] = NOTHING if isinstance(default, ast.Constant) and default.value is None else UNKNOWN
    if skip and names:
        env[names[0]] = Origin("self", name="")
    elif names and names[0] not in env:
        env[names[0]] = UNKNOWN
    return env


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
