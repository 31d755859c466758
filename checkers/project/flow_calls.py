"""Calls in a stage's forward: of torch, of submodules, of helpers of the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..facts.module import ClassFacts
from ..language import tr
from .flow import Env
from .flow_values import Values
from .origin import NOTHING, UNKNOWN, Origin, looks_like_mask, number
from .project import External, FunctionRef, dotted_name
from .submodules import Submodules
from .torch_names import NUMBERS, OF_BUFFERS


class Calls(Values):
    """All expressions of a Flow."""

    def call(self, node: ast.Call, env: Env) -> Origin:
        from .flow_torch import method, torch_function

        flow, func = self.flow, node.func
        args = [flow.value(part.value if isinstance(part, ast.Starred) else part, env) for part in node.args]
        kwargs = {part.arg or "**": flow.value(part.value, env) for part in node.keywords}
        dotted = dotted_name(func) or ""
        last = func.attr if isinstance(func, ast.Attribute) else dotted
        if last.endswith("checkpoint") and args and dotted_name(node.args[0]) is not None:
            return self._checkpoint(node, args, env)
        if last.endswith("checkpoint") and node.args and isinstance(node.args[0], ast.Lambda):
            flow.trace.checkpointed.update(_layers_called(node.args[0]))
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
                if func.attr not in OF_BUFFERS:
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
                flow = self.flow
                outer, flow.is_checkpointing = flow.is_checkpointing, True
                try:
                    return self.of_self(target.name, node, inner, {})
                finally:
                    flow.is_checkpointing = outer
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
            return Origin("self", name=f"{args[0].name}.{node.args[1].value!s}".lstrip("."))
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
        given = node.args[len(node.args) - len(args) :]  # without the function and the flag of a checkpoint
        for arg, part in _with_values(zip(args, given, strict=False)):
            if arg.kind == "received":
                self.as_tensor(arg, part, tr("it is passed to `self.%(attr)s`", attr=attr))
        if self.flow.is_checkpointing:
            self.flow.trace.checkpointed.add(attr)
        elif not is_checkpointed:
            self.flow.trace.plain_calls.append(self.flow.see(node, attr))
        fed = self.flow.trace.fed.get(attr, frozenset()) if self.flow.receives else frozenset[int]()
        held = self.flow.project.knowledge(Submodules).of(self.flow.cls, name)
        if held is not None and not any(isinstance(part, ast.Starred) for part in node.args):
            places, names = self.flow.project.knowledge(Submodules).positions_unread(held)
            args = [arg for index, arg in enumerate(args) if index not in places]
            kwargs = {word: value for word, value in kwargs.items() if word not in names}
        return self.result(args, kwargs, extra=fed).but(name=f"self.{attr}")

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


def _with_values(given: Iterable[tuple[Origin, ast.expr]]) -> Iterator[tuple[Origin, ast.expr]]:
    """Arguments, and the values of those that are written as dicts."""
    for arg, part in given:
        yield arg, part
        if isinstance(part, ast.Dict) and arg.items is not None and len(arg.items) == len(part.values):
            yield from zip(arg.items, part.values, strict=True)


def _layers_called(function: ast.Lambda) -> Iterator[str]:
    """The layers that `lambda x: self.layer(x, mask=mask)` runs."""
    for part in ast.walk(function.body):
        name = dotted_name(part.func) if isinstance(part, ast.Call) else None
        if name is not None and name.startswith("self."):
            yield name.split(".")[1]


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
