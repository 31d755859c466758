"""Following the values of a stage's forward, statement by statement, without running anything.

This is not the TP analysis: it knows nothing of shards. It answers what crosses the boundary between two stages: what
is unpacked, what is passed on, what is copied, what carries a gradient.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, field

from ..facts.module import ClassFacts, ModuleFacts
from .origin import ARGUMENT, NOTHING, UNKNOWN, Origin, join, looks_like_mask, number
from .project import Project, dotted_name

Env = dict[str, Origin]

MAX_DEPTH, MAX_HELPERS = 6, 300


@dataclass(frozen=True, eq=False)
class Seen:
    """Something at a node of a file; `text` and `origin` say what."""

    module: ModuleFacts
    node: ast.AST
    text: str = ""
    origin: Origin = UNKNOWN


@dataclass(eq=False)
class Trace:
    """What one run of a forward showed."""

    returns: list[Seen] = field(default_factory=list)
    unpacks: list[tuple[Seen, tuple[str, ...]]] = field(default_factory=list)
    whole_uses: list[Seen] = field(default_factory=list)
    copies: list[tuple[Seen, Seen]] = field(default_factory=list)
    batch_uses: list[Seen] = field(default_factory=list)
    plain_calls: list[Seen] = field(default_factory=list)
    checkpointed: set[str] = field(default_factory=set)
    fed: dict[str, frozenset[int]] = field(default_factory=dict)
    reads: list[Seen] = field(default_factory=list)
    escaped: set[int] = field(default_factory=set)
    without_gradient: bool = False
    is_open: bool = False


class Flow:
    """One run over a class's forward, as the first stage or as one that received tensors."""

    def __init__(self, project: Project, cls: ClassFacts, receives: bool, held: Env | None = None) -> None:
        from .flow_calls import Calls

        self.project = project
        self.cls = cls
        self.receives = receives
        self.trace = Trace()
        self.attrs: Env = dict(held or {})
        self.serials = itertools.count(1)
        self.module = cls.module
        self.depth = 0
        self.helpers_left = MAX_HELPERS
        self.is_testing = self.is_checkpointing = False
        self.calls = Calls(self)
        self.first_copy: dict[int, Seen] = {}
        self.returned: list[list[Origin]] = []

    def run(self) -> Trace:
        """Hand the received tensors over, then run the forward."""
        whole = Origin("received")
        setter = self.project.method(self.cls, "set_input_tensor")
        if setter is not None and len(setter[1].args.args) > 1:
            self._enter(setter[0].module, setter[1], {setter[1].args.args[1].arg: whole})
        self.given = {
            name for name, origin in self.attrs.items() if origin.kind == "received" or origin.received
        }
        self.attrs.setdefault("input_tensor", whole)
        self.given.add("input_tensor")
        forward = self.project.method(self.cls, "forward")
        if forward is not None:
            self.depth = 0
            self.trace.returns.clear()
            self._enter(forward[0].module, forward[1], self._arguments(forward[1]))
        return self.trace

    def _arguments(self, function: ast.FunctionDef) -> Env:
        names = [arg.arg for arg in (*function.args.args[1:], *function.args.kwonlyargs)]
        optional = len(function.args.defaults)
        env: Env = {}
        for index, name in enumerate(names):
            absent = self.receives and index >= len(function.args.args) - 1 - optional
            env[name] = (
                NOTHING if absent else self.fresh("result", received=frozenset({ARGUMENT}), contiguous=None)
            )
        return env

    def _enter(self, module: ModuleFacts, function: ast.FunctionDef, env: Env) -> Origin:
        """Run a function's body; what it returns, joined."""
        outer = self.module
        self.module = module
        self.depth += 1
        self.returned.append([])
        env.setdefault(function.args.args[0].arg if function.args.args else "self", Origin("self", name=""))
        try:
            goes_on = self.block(function.body, env)
        finally:
            found = self.returned.pop()
            self.depth -= 1
            self.module = outer
        result = found[0] if found else NOTHING
        for origin in found[1:]:
            result = join(result, origin)
        return join(result, NOTHING) if goes_on and found else result

    def inline(self, module: ModuleFacts, function: ast.FunctionDef, env: Env) -> Origin | None:
        """The result of a helper of the tree; None where it is too deep or too long to follow."""
        self.helpers_left -= 1
        if self.depth >= MAX_DEPTH or len(function.body) > 60 or self.helpers_left < 0:
            return None
        return self._enter(module, function, env)

    def fresh(self, kind: str, **fields: object) -> Origin:
        serial = next(self.serials)
        return Origin(kind, serial=serial, source=serial).but(**fields)

    def see(self, node: ast.AST, text: str = "", origin: Origin = UNKNOWN) -> Seen:
        return Seen(self.module, node, text, origin)

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], env: Env) -> bool:
        """Run statements; whether control goes on after them."""
        return all(self.statement(statement, env) for statement in body)

    def statement(self, node: ast.stmt, env: Env) -> bool:
        if isinstance(node, ast.Return):
            origin = self.value(node.value, env) if node.value is not None else NOTHING
            self.returned[-1].append(origin)
            if self.depth == 1:
                self.trace.returns.append(self.see(node, origin=origin))
            return False
        if isinstance(node, ast.Raise):
            return False
        if isinstance(node, ast.Assign):
            origin = self.value(node.value, env)
            for target in node.targets:
                self.bind(target, origin, env, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, self.value(node.value, env), env, node.value)
        elif isinstance(node, ast.AugAssign):
            given = self.value(node.value, env)
            if isinstance(node.target, ast.Name):
                env[node.target.id] = self.mixed([env.get(node.target.id, UNKNOWN), given])
            else:
                self.bind(node.target, given, env, node.value)
        elif isinstance(node, ast.If):
            return self._if(node, env)
        elif isinstance(node, ast.For | ast.While):
            return self._loop(node, env)
        elif isinstance(node, ast.With):
            return self._with(node, env)
        elif isinstance(node, ast.Try):
            goes_on = self.block(node.body, env)
            for handler in node.handlers:
                self.block(handler.body, dict(env))
            return self.block(node.finalbody, env) and goes_on
        elif isinstance(node, ast.Expr):
            self.value(node.value, env)
        return True

    def _if(self, node: ast.If, env: Env) -> bool:
        answer = self.decide(node.test, env)
        if answer is not None:
            return self.block(node.body if answer else node.orelse, env)
        then, other = dict(env), dict(env)
        attrs = dict(self.attrs)
        goes = self.block(node.body, then)
        then_attrs, self.attrs = self.attrs, attrs
        goes_other = self.block(node.orelse, other)
        if goes and goes_other:
            for name in {*then, *other}:
                env[name] = join(then.get(name), other.get(name))
            self.attrs = {
                name: join(then_attrs.get(name), self.attrs.get(name)) for name in {*then_attrs, *self.attrs}
            }
        elif goes or goes_other:
            env.update(then if goes else other)
            self.attrs = then_attrs if goes else self.attrs
        return goes or goes_other

    def _loop(self, node: ast.For | ast.While, env: Env) -> bool:
        if isinstance(node, ast.For):
            source = self.value(node.iter, env)
            item = (
                source
                if source.kind in ("self", "unknown", "object")
                else UNKNOWN.but(received=source.carries)
            )
            self.bind(node.target, number() if source.kind == "range" else item, env, node.iter)
        before = dict(env)
        self.block(node.body, env)
        for name, origin in before.items():
            env[name] = join(origin, env.get(name))
        self.block(node.orelse, env)
        return True

    def _with(self, node: ast.With, env: Env) -> bool:
        text = " ".join(ast.unparse(item.context_expr) for item in node.items)
        if "no_grad" in text or "inference_mode" in text:
            self.trace.without_gradient = True
        return self.block(node.body, env)

    def bind(self, target: ast.expr, origin: Origin, env: Env, source: ast.expr | None = None) -> None:
        """Store a value under a target."""
        if isinstance(target, ast.Name):
            if looks_like_mask(target.id) and origin.kind not in (
                "number",
                "none",
                "self",
                "text",
                "received",
            ):
                origin = origin.but(is_mask=True)
                self._note_batch(origin)
            env[target.id] = origin
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, origin, env)
        elif isinstance(target, ast.Attribute) and dotted_name(target.value) == "self":
            self.attrs[target.attr] = origin
            self.trace.escaped |= origin.carries if self.depth and "given" in self.__dict__ else set()
        elif isinstance(target, ast.Subscript | ast.Attribute):
            holder = target.value
            while isinstance(holder, ast.Subscript | ast.Attribute):
                holder = holder.value
            if isinstance(holder, ast.Name) and holder.id in env:
                self.pour(holder.id, origin, env)

    def _note_batch(self, origin: Origin) -> None:
        """A buffer made for the measured batch size is used as it was made."""
        if origin.is_tensor and origin.constant and origin.batch and origin.node is not None:
            self.trace.batch_uses.append(self.see(origin.node, origin.how))

    def pour(self, name: str, origin: Origin, env: Env) -> None:
        """Something is written into a variable in place."""
        old = env[name]
        env[name] = old.but(
            received=old.received | origin.carries, passes=None, constant=old.constant and origin.constant,
        )  # fmt: skip

    def _unpack(self, target: ast.Tuple | ast.List, origin: Origin, env: Env) -> None:
        names = tuple(part.id if isinstance(part, ast.Name) else "" for part in target.elts)
        starred = any(isinstance(part, ast.Starred) for part in target.elts)
        if origin.kind == "received":
            if starred:
                self.trace.is_open = True
            else:
                self.trace.unpacks.append((self.see(target), names))
        for index, part in enumerate(target.elts):
            inner = part.value if isinstance(part, ast.Starred) else part
            if starred:
                self.bind(inner, UNKNOWN.but(received=origin.carries), env)
            else:
                self.bind(inner, self.calls.item(origin, index), env)

    def decide(self, test: ast.expr, env: Env) -> bool | None:
        """Whether a test holds on this kind of stage, None when that cannot be told. Reading in a test is no use."""
        from .flow_tests import decided

        outer, self.is_testing = self.is_testing, True
        try:
            return decided(self, test, env)
        finally:
            self.is_testing = outer

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr | None, env: Env) -> Origin:
        """Where the value of an expression comes from."""
        if node is None:
            return NOTHING
        return self.calls.value(node, env)

    def mixed(self, parts: list[Origin]) -> Origin:
        """A tensor computed from several values."""
        carried: frozenset[int] = frozenset()
        for part in parts:
            carried |= part.carries
        for part in parts:
            self._note_batch(part)
        known = all(part.constant or part.kind in ("self", "shape", "text") for part in parts)
        tensors = [part for part in parts if part.is_tensor]
        if not tensors and all(part.kind in ("number", "none") for part in parts):
            return number(
                "float" if any(part.dtype == "float" for part in parts) else "int",
                any(p.batch for p in parts),
            )
        kind = "tensor" if tensors else "unknown"
        return self.fresh(kind, received=carried, constant=known and bool(tensors))
