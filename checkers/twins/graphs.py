"""Questions about graphs of operations."""

from __future__ import annotations

from collections import Counter

from .names import VIEWS
from .nodes import Node, Spot, reachable

_DEEP = 4
BRANCHES = frozenset(
    "if and or not is == != < <= > >= in comp loop append setitem setattr slice opaque local".split()
)
"""Operations that say when, and how often, something is computed: code that is split may need fewer of them."""

_TAKEN_OUT = frozenset("input getitem const if is not attr global seq f:isinstance".split())

_COUNTS = frozenset("const param each slice + - * // % neg".split())


def operations(node: Node) -> Counter[str]:
    """The operations of a graph, each as often as it is there; views and numbers left out."""
    skipped = {
        "const",
        "param",
        "self",
        "seq",
        "getitem",
        "global",
        "attr",
        "input",
        "each",
        "carried",
        "dict",
        "config",
    }
    found: Counter[str] = Counter()
    for part in reachable(node):
        if part.op not in skipped and part.op.removeprefix("f:") not in VIEWS:
            found[operation(part)] += 1
    return found


def operation(node: Node) -> str:
    """What one operation is counted as."""
    name = f"call {node.args[0].value}" if node.op == "call" else node.op
    return "loop" if name == "first turn" else name


def has_parameter(node: Node) -> bool:
    return any(part.op == "param" for part in reachable(node))


def is_count(node: Node) -> bool:
    """Whether an index is worked out from arguments and the turn of a loop."""
    return all(part.op in _COUNTS for part in reachable(node))


def is_input(node: Node) -> bool:
    """Whether a value is a part of what the method was given, taken out and not changed."""
    found = {part.op for part in reachable(node)}
    return "input" in found and found <= _TAKEN_OUT


def cuts_out_of(node: Node, other: Node) -> bool:
    """Whether a fixed part is taken out of what is whole on the other side: `x[:, 1:]` for `x`."""
    if node.op != "getitem" or other.op != node.args[0].op or not other.op.startswith("f:"):
        return False
    parts = list(reachable(node.args[1]))
    cut = any(part.op == "slice" and any(end.value is not None for end in part.args) for part in parts)
    return cut and {part.op for part in parts} <= {"seq", "slice", "const"}


def lacks_entry(theirs: Node, mine: Node) -> bool:
    """Whether a dict holds all that the other one holds but some values that are not None."""
    lost = [arg for arg, name in zip(theirs.args, theirs.names, strict=True) if name not in mine.names]
    none = [arg for arg in lost if arg.op == "const" and arg.value is None]
    return bool(lost) and not none and set(mine.names) < set(theirs.names)


def starts_later(theirs: Node, mine: Node) -> bool:
    """Whether one of two ranges with the same end leaves out the first numbers: `range(1, n)` for `range(n)`."""
    ends = [node.args[-1].key if len(node.args) < 3 else 0 for node in (theirs, mine)]
    starts = [node.args[0] if len(node.args) == 2 else None for node in (theirs, mine)]
    written = [start is None or (start.op == "const" and isinstance(start.value, int)) for start in starts]
    return all(written) and ends[0] == ends[1] != 0


def guarded(node: Node) -> Node | None:
    """What a value is where its `None` test finds something: guards are written on one side only."""
    if node.op == "if" and node.args[0].op == "is":
        if any(arg.op == "const" and arg.value is None for arg in node.args[0].args):
            return node.args[2]
    return None


def within(whole: Node, part: Node, depth: int = _DEEP) -> list[Node] | None:
    """The operations that a value goes through besides, where the other side takes it as it is."""
    if whole.op in ("const", "param"):
        return None
    for arg in whole.args:
        if arg.key == part.key and part.op not in ("const", "param", "each"):
            return [whole]
        if arg.key == part.key and whole.op in ("if", "//", "*", "/", "getitem"):
            return [whole]
    if depth:
        for arg in whole.args:
            path = within(arg, part, depth - 1)
            if path is not None:
                return [whole, *path]
    return None


def calls_of_layers(node: Node) -> list[Node]:
    """The calls of the layers that the class holds."""
    return [part for part in reachable(node) if part.op == "call" and part.args[0].op == "self"]


def enters(call: Node, value: Node, calls: list[Node]) -> bool:
    """Whether the layer of a call is given a value by one of the calls on the other side."""
    if call.op != "call" or call.args[0].op != "self":
        return False
    for other in calls:
        if other.args[0].key == call.args[0].key:
            given = [
                part for arg in other.args[1:] for part in (arg, *(arg.args if arg.op == "dict" else ()))
            ]
            if any(arg.key == value.key for arg in given):
                return True
    return False


Pair = tuple[Node, Node, Spot, Spot]


def unmatched(pairs: list[Pair]) -> list[Pair]:
    """The operands of a sum or product that the other side has not."""
    theirs = [(pair[0], pair[2]) for pair in pairs]
    mine = [(pair[1], pair[3]) for pair in pairs]
    for own in list(theirs):
        match = next((other for other in mine if other[0].key == own[0].key), None)
        if match is not None:
            theirs.remove(own)
            mine.remove(match)
    return [(a, b, there, here) for (a, there), (b, here) in zip(theirs, mine, strict=True)]
