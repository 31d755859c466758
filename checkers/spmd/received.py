"""Where a stage uses what it received as one tensor, and whether it keeps its layout up to what it sends."""

from __future__ import annotations

import ast
import re

from ..facts.module import ClassFacts
from .conditions import condition, decide
from .frames import Frame
from .stage_paths import MIDDLE
from .virtual_stages import VirtualStage, certain, chosen, forward_of, part_of, stores

_MAX_DEPTH, _MAX_STEPS = 4, 400
_TENSOR = frozenset(
    "shape size dtype device dim ndim view reshape transpose permute contiguous float bfloat16 half to detach "
    "requires_grad chunk split unsqueeze squeeze flatten mean sum clone numel new_zeros new_empty type_as".split()
)
_LAYOUT = re.compile(r"transpose|permute|rearrange|swapaxes|swapdims|movedim|moveaxis|\.m?T\b|\.t\(")
TURNS = frozenset("transpose permute swapaxes swapdims movedim moveaxis".split())
Use = tuple[ast.AST, Frame]


class Taken(Exception):
    """What was received is taken apart, or goes where it cannot be followed."""


class TensorUse:
    """The first use of a received list as a tensor on a middle stage."""

    def __init__(self, stage: VirtualStage) -> None:
        self.stage = stage
        self.steps = 0

    def find(self) -> Use | None:
        """Where it surely fails; None where it may be taken apart before, or cannot be followed."""
        function = self.stage.forward.scope.function
        assert function is not None
        try:
            return self._block(function.body, self.stage.forward, frozenset())
        except Taken:
            return None

    def _block(self, body: list[ast.stmt], frame: Frame, held: frozenset[str]) -> Use | None:
        for index, statement in enumerate(body):
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise Taken
            rest = body[index + 1 :]
            if isinstance(statement, ast.If):
                found = self._expression(statement.test, frame, held)
                if found is not None:
                    return found
                answer = decide(condition(statement.test, frame), MIDDLE)
                sides = [statement.body] if answer else [statement.orelse] if answer is False else []
                uses = [
                    self._block([*side, *rest], frame, held)
                    for side in sides or (statement.body, statement.orelse)
                ]
                return uses[0] if all(use is not None for use in uses) else None
            if isinstance(statement, ast.With):
                return self._block([*statement.body, *rest], frame, held)
            if isinstance(statement, ast.For):
                found = self._expression(statement.iter, frame, held)
                if found is not None:
                    return found
                if self._is_held(statement.iter, frame, held):
                    raise Taken
                held -= stores(statement)
                continue
            if isinstance(statement, ast.Try | ast.While | ast.FunctionDef | ast.Raise | ast.Assert):
                raise Taken
            found = self._expression(statement, frame, held)
            if found is not None or isinstance(statement, ast.Return):
                return found
            held -= stores(statement)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if self._is_held(chosen(statement.value, frame, MIDDLE), frame, held):
                    if not isinstance(target, ast.Name):
                        raise Taken
                    held |= {target.id}
        return None

    def _is_held(self, node: ast.expr, frame: Frame, held: frozenset[str]) -> bool:
        if isinstance(node, ast.Name):
            return node.id in held
        is_own = frame.cls is self.stage.cls and frame.scope.function is not None
        return is_own and ast.unparse(node) == f"self.{self.stage.received}"

    def _expression(self, node: ast.AST, frame: Frame, held: frozenset[str]) -> Use | None:
        """A use as a tensor in what a node surely evaluates; in the order in which Python evaluates it."""
        if isinstance(node, ast.IfExp):
            side = chosen(node, frame, MIDDLE)
            return None if side is node else self._expression(side, frame, held)
        if isinstance(node, ast.BoolOp):
            return self._expression(node.values[0], frame, held)
        if isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            if any(
                isinstance(part, ast.expr) and self._is_held(part, frame, held) for part in ast.walk(node)
            ):
                raise Taken
            return None
        for child in ast.iter_child_nodes(node):
            found = self._expression(child, frame, held)
            if found is not None:
                return found
        if isinstance(node, ast.Attribute) and self._is_held(node.value, frame, held):
            if node.attr in _TENSOR:
                return node, frame
            raise Taken
        if isinstance(node, ast.Subscript) and self._is_held(node.value, frame, held):
            if isinstance(node.slice, ast.Tuple):
                return node, frame
            raise Taken
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.MatMult):
            if self._is_held(node.left, frame, held) or self._is_held(node.right, frame, held):
                return node, frame
        if isinstance(node, ast.Call):
            return self._call(node, frame, held)
        return None

    def _call(self, node: ast.Call, frame: Frame, held: frozenset[str]) -> Use | None:
        arguments = [*node.args, *(word.value for word in node.keywords)]
        if not any(self._is_held(argument, frame, held) for argument in arguments):
            return None
        part = part_of(node.func, frame)
        if isinstance(part, str) and re.fullmatch(
            r"torch\.nn\.(Linear|LayerNorm|RMSNorm|Conv\dd|Dropout)", part
        ):
            return node, frame
        inner = forward_of(frame, node) if isinstance(part, ClassFacts) else frame.callee(node)
        if inner is None or inner.scope.function is None or inner.depth > _MAX_DEPTH:
            raise Taken
        given = {name for name, (value, where) in inner.given.items() if where is frame}
        names = frozenset(name for name in given if self._is_held(inner.given[name][0], frame, held))
        return self._block(inner.scope.function.body, inner, names)


def turned_output(stage: VirtualStage) -> tuple[ast.expr, str] | None:
    """A middle stage's result that has other dimensions in front than what the stage received, and the words for it."""
    held: set[str] = set()
    frame = stage.forward
    for statement in certain(frame, MIDDLE):
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Return) and isinstance(value, ast.expr):
            turn = _turn(chosen(value, frame, MIDDLE))
            if turn is not None and isinstance(turn.func, ast.Attribute):
                inside = turn.func.value
                if isinstance(inside, ast.expr) and _keeps(inside, frame, stage, held):
                    return value, ast.unparse(inside)
            return None
        bound = stores(statement)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            side = chosen(statement.value, frame, MIDDLE)
            keeps = _keeps(side, frame, stage, held)
            held -= bound
            if keeps:
                held |= bound
        else:
            held -= bound
    return None


def _turn(node: ast.expr) -> ast.Call | None:
    """`x.transpose(0, 1)`, also with `.contiguous()` behind it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in TURNS:
            return node if ast.unparse(node.func.value) not in ("torch", "einops") and _moves(node) else None
        if node.func.attr not in ("contiguous", "clone"):
            return None
        node = node.func.value
    return None


def _moves(node: ast.Call) -> bool:
    """Whether the first dimension moves."""
    numbers = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if len(numbers) != len(node.args):
        return False
    permutes = isinstance(node.func, ast.Attribute) and node.func.attr == "permute"
    return bool(numbers) and (numbers[0] != 0 if permutes else 0 in numbers and len(set(numbers)) == 2)


def _keeps(node: ast.expr, frame: Frame, stage: VirtualStage, held: set[str]) -> bool:
    """Whether a value has the layout of what the stage received."""
    if isinstance(node, ast.Name):
        return node.id in held
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.slice) == "0" and ast.unparse(node.value) == f"self.{stage.received}"
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) == f"self.{stage.received}"
    if isinstance(node, ast.Call) and node.args and _keeps(node.args[0], frame, stage, held):
        part = part_of(node.func, frame)
        return isinstance(part, ClassFacts) and not _LAYOUT.search(part.text)
    return False
