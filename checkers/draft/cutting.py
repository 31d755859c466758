"""Where the forward of a model is cut into stages, and what crosses each cut."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .edits import load_names, store_names

_SHAPES = ("shape", "size", "ndim", "device", "dtype")


@dataclass
class Cut:
    """One stage: statements of the forward, what it takes and what it hands on, in this order.

    `again` are statements of earlier stages that every stage can run for itself; `lost` are sizes that an earlier stage
    read from a tensor; `raw` what it gives of the model's input, as it came.
    """

    body: list[ast.stmt]
    takes: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    again: list[ast.stmt] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    cost: int = 0


def cut(forward: ast.FunctionDef, stages: int, costs: Mapping[str, int]) -> list[Cut] | None:
    """The forward in `stages` parts whose largest is as small as can be, with few tensors between; None where it has
    fewer steps that compute something.

    `costs` are multiplications by attribute; a module without one weighs nothing against those.
    """
    body = [node for node in forward.body if not _is_text(node)]
    weights = [_cost(node, costs) for node in body]
    if (
        sum(weight > 0 for weight in weights) < stages
    ):  # what computes without a module can be a stage of its own
        calls = [any(isinstance(part, ast.Call) for part in ast.walk(node)) for node in body]
        weights = [weight or int(is_call) for weight, is_call in zip(weights, calls, strict=True)]
    if sum(weight > 0 for weight in weights) < stages:
        return None
    arguments = [arg.arg for arg in (*forward.args.args[1:], *forward.args.kwonlyargs)]
    fixed = _fixed_names(body, arguments, costs)
    plain = plain_names(forward) | fixed
    crossing = [_crossing(body, index, arguments) for index in range(len(body) + 1)]
    price = [
        sum(100 if name in plain and not _again(body[:index], name, fixed) else 1 for name in crossing[index])
        + 10 * _doubles(body[:index], crossing[index])
        for index in range(len(body) + 1)
    ]
    ends = _best(weights, price, stages)
    found = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        part = Cut(body[start:end], cost=sum(weights[start:end]))
        if start:
            _receive(part, body[:start], crossing[start], plain, fixed)
        if end < len(body):
            part.gives = [name for name in crossing[end] if name not in plain]
            made = {name for node in body[:end] for name in store_names(node)}
            part.raw = [name for name in part.gives if name in arguments and name not in made]
        found.append(part)
    return found


def _receive(
    part: Cut, before: Sequence[ast.stmt], crossing: Sequence[str], plain: set[str], fixed: set[str]
) -> None:
    part.takes = [name for name in crossing if name not in plain]
    used = set().union(*(load_names(node) for node in part.body))
    for name in (name for name in crossing if name in plain and name in used):
        again = _again(before, name, fixed)
        part.again += [node for node in again if node not in part.again]
        if not again:
            part.lost.append(name)
    part.again.sort(key=lambda node: node.lineno)


def _fixed_names(body: Sequence[ast.stmt], arguments: Sequence[str], costs: Mapping[str, int]) -> set[str]:
    """Names that no input and no module has a part in: every stage can make them for itself."""
    moving = {*arguments, *(f"self.{attr}" for attr in costs)}
    for _ in body:  # what moves is found after so many rounds at the latest
        for node in body:
            if load_names(node) & moving:
                moving |= store_names(node)
    return {name for node in body for name in store_names(node)} - moving


def plain_names(forward: ast.FunctionDef) -> set[str]:
    """Names that hold no tensor: sizes, and what is kept on the instance or computed from such."""
    found: set[str] = set()
    for node in forward.body:
        if isinstance(node, ast.Assign) and _is_plain(node.value, found):
            found |= store_names(node)
        else:
            found -= store_names(node)
    return {name for name in found if not name.startswith("self.")}


def _is_plain(value: ast.expr, known: set[str]) -> bool:
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Tuple | ast.List):
        return all(_is_plain(part, known) for part in value.elts)
    if isinstance(value, ast.Name):
        return value.id in known
    if isinstance(value, ast.Attribute):
        return value.attr in _SHAPES or (isinstance(value.value, ast.Name) and value.value.id == "self")
    if isinstance(value, ast.Subscript):
        return _is_plain(value.value, known)
    if isinstance(value, ast.BinOp):
        return _is_plain(value.left, known) and _is_plain(value.right, known)
    if isinstance(value, ast.Call):
        named = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return named in ("size", "len", "int", "dim", "tuple", "list")
    return False


def _again(before: Sequence[ast.stmt], name: str, fixed: set[str]) -> list[ast.stmt]:
    """The statements that make a value which every stage can make for itself; none where it is no such value."""
    if name not in fixed:
        return []
    wanted, found = {name}, []
    for node in reversed(before):
        if store_names(node) & wanted:
            wanted |= load_names(node)
            found.append(node)
    return found


def _crossing(body: Sequence[ast.stmt], index: int, arguments: Sequence[str]) -> list[str]:
    """Names that are set before a place and read from there on, `x` or the newest of them first."""
    waiting: set[str] = set()
    for node in reversed(body[index:]):
        if not isinstance(node, ast.If | ast.For | ast.While):
            waiting -= store_names(node)
        waiting |= load_names(node)
    known = list(arguments)
    for node in body[:index]:
        known += [name for name in sorted(store_names(node)) if not name.startswith("self.")]
    newest = list(dict.fromkeys(reversed(known)))
    return [name for name in newest if name in waiting]


def _doubles(before: Sequence[ast.stmt], crossing: Sequence[str]) -> int:
    """How many of the names at a cut are another one's tensor: `skip = x`, and `x` not changed yet."""
    same: dict[str, str] = {}
    for node in before:
        made = store_names(node)
        same = {name: other for name, other in same.items() if name not in made and other not in made}
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            same |= dict.fromkeys(made, node.value.id)
    return sum(name in crossing and other in crossing for name, other in same.items())


def _cost(node: ast.stmt, costs: Mapping[str, int]) -> int:
    names = load_names(node)
    own = [weight for attr, weight in costs.items() if f"self.{attr}" in names]
    return sum(own)


def _best(weights: Sequence[int], price: Sequence[int], stages: int) -> list[int]:
    """Where each stage ends: the largest weight is smallest, to a 500th of all, then the price of what crosses."""
    count, unit = len(weights), max(sum(weights) // 500, 1)
    table: dict[tuple[int, int], tuple[tuple[int, int], list[int]]] = {}
    for end in range(1, count + 1):
        table[1, end] = ((sum(weights[:end]) // unit, 0), [end])
    for stage in range(2, stages + 1):
        for end in range(stage, count + 1):
            choices = []
            for middle in range(stage - 1, end):
                (largest, paid), ends = table[stage - 1, middle]
                own = sum(weights[middle:end])
                if own and weights[: ends[0]] and any(weights[: ends[0]]):
                    choices.append(((max(largest, own // unit), paid + price[middle]), [*ends, end]))
            if choices:
                table[stage, end] = min(choices)
            else:
                table[stage, end] = ((1 << 200, 0), [*table[stage - 1, end - 1][1], end])
    return table[stages, count][1]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
