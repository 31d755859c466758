"""Functions of autograd that exchange or shift: what their backward does must go the other way."""

from __future__ import annotations

import ast
import re

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..project.project import FunctionRef, Project

_EXCHANGES = re.compile(r"all_to_all|alltoall|a2a|exchange")
_GROUP = re.compile(r"group|async|pg$")
_WAYS = re.compile(
    r"scatter|gather|split|cat|cut|join|sen[dt]|rec|got|input|output|\bin_|\bout_|^-?\d+$|=-?\d+$"
)
Call = tuple[str, tuple[str, ...]]


def exchanged_alike(cls: ClassFacts) -> str | None:
    """The exchange that `backward` does with the very sizes or dimensions of `forward`, not the other way round."""
    found = _same_call(cls, _EXCHANGES)
    if found is None:
        return None
    name, given = found
    ways = {part.rpartition("=")[2] for part in given if _WAYS.search(part)}
    return name if len(ways) >= 2 else None


def shifted_alike(project: Project, cls: ClassFacts) -> str | None:
    """The shift to a neighbour that `backward` does in the direction of `forward`."""
    found = _same_call(cls, None)
    ref = project.resolve(cls.module, found[0]) if found is not None and found[0].isidentifier() else None
    if found is None or not isinstance(ref, FunctionRef):
        return None
    text = ref.module.text_of(ref.node)
    peers = [
        as_code(call.args[2])
        for call in _calls(ref.node)
        if as_code(call.func).endswith("P2POp") and len(call.args) > 2
    ]
    sends = [as_code(call) for call in _calls(ref.node) if as_code(call.func).endswith((".isend", ".send"))]
    receives = [
        as_code(call) for call in _calls(ref.node) if as_code(call.func).endswith((".irecv", ".recv"))
    ]
    if "reverse" in text or len(set(peers)) == 2 == len(peers):
        return found[0]
    if len(sends) == len(receives) == 1 and _peer(sends[0]) != _peer(receives[0]):
        return found[0]
    return None


def _peer(text: str) -> str:
    found = re.search(r"(?:dst|src)=(.+?)(?:, \w+=|\)$)", text)
    return found[1] if found else text.partition("(")[2].split(", ", 1)[-1]


def _same_call(cls: ClassFacts, named: re.Pattern[str] | None) -> Call | None:
    """A call that both directions make with the same arguments beside the tensor and the group."""
    forward, backward = cls.methods.get("forward"), cls.methods.get("backward")
    if forward is None or backward is None or len(forward.args.args) < 2 or len(backward.args.args) != 2:
        return None
    stored = _stored(forward)
    ways = [
        _of_tensor(forward, forward.args.args[1].arg, {}),
        _of_tensor(backward, backward.args.args[1].arg, stored),
    ]
    for name, given in ways[0]:
        if named is None or named.search(name):
            others = [other for other, _ in ways[1] if other == name]
            if len(others) == 1 and (name, given) in ways[1]:
                return name, given
    return None


def _stored(forward: ast.FunctionDef) -> dict[str, str]:
    """What `ctx.x` holds: the parameter, by its name."""
    context = forward.args.args[0].arg
    held: dict[str, str] = {}
    for node in walk(forward):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=False) if both else [(target, value)]  # type: ignore[attr-defined]
            for left, right in pairs:
                if isinstance(left, ast.Attribute) and as_code(left.value) == context:
                    held[as_code(left)] = as_code(right)
    return held


def _of_tensor(method: ast.FunctionDef, tensor: str, stored: dict[str, str]) -> list[Call]:
    """The calls of a method that take its tensor, with the other arguments in the names of `forward`."""
    found: list[Call] = []
    for call in _calls(method):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        texts = [as_code(arg) for arg in given]
        if tensor not in texts and f"{tensor}.contiguous()" not in texts:
            continue
        names = [None] * len(call.args) + [keyword.arg for keyword in call.keywords]
        others = [
            f"{name or ''}{'=' if name else ''}{stored.get(text, text)}"
            for name, text in zip(names, texts, strict=True)
            if text not in (tensor, f"{tensor}.contiguous()")
            and not _GROUP.search(name or stored.get(text, text))
        ]
        buffers = {name for name in others if name in _made(method)}
        found.append((as_code(call.func), tuple(name for name in others if name not in buffers)))
    return found


def _made(method: ast.FunctionDef) -> set[str]:
    """Names that a method makes itself: buffers."""
    return {
        as_code(target)
        for node in walk(method)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
    }


def _calls(node: ast.AST) -> list[ast.Call]:
    return [part for part in walk(node) if isinstance(part, ast.Call)]
