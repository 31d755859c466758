"""Two graphs of operations walked together: where they part, and whether that is sure to matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..language import tr
from ..project.project import FunctionRef
from .arguments import Arguments
from .difference import Difference
from .frames import OwnLayer, Side
from .held import renamed
from .names import COMMUTATIVE, CONTRASTS, INITIALISERS, OPERATORS, VIEWS, plain
from .nodes import Node, Spot, reachable
from .probe import Probe, Unknown, same

_ENOUGH = 0.6
_DEEP = 4
_SYMBOLS = frozenset(OPERATORS.values())


class Comparison:
    """All that one original and its distributed code have in common and do otherwise."""

    def __init__(
        self, original: Side, sides: Sequence[Side], arguments: Arguments, probes: Sequence[Probe]
    ) -> None:
        self.original, self.sides = original, sides
        self.arguments, self.probes = arguments, probes
        self.theirs = set(original.attrs)
        self.mine = {name for side in sides for name in side.attrs}
        self._renamed = {(own, name) for name, (own, _, _) in renamed(original, sides).items()}
        self._done: set[tuple[int, int]] = set()
        self._all_decided = False
        self._shared: set[str] = set()

    def results(self, a: Node, b: Node) -> list[Difference] | None:
        """Compare what two methods return; None where they are not alike enough."""
        first, second = _bag(a), _bag(b)
        most = max(first.total(), second.total(), 1)
        if (first & second).total() / most < _ENOUGH:
            return None
        own, other = (
            {part.op for part in reachable(node) if isinstance(part.ref, FunctionRef)} for node in (a, b)
        )
        self._shared = own & other
        self._all_decided = first == second
        found = self.of(a, b, a.spot, b.spot)
        self._all_decided = False
        return found

    def of(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        """The differences of two nodes, written at `there` and `here`."""
        if a.key == b.key or (a.key, b.key) in self._done:
            return []
        self._done.add((a.key, b.key))
        verdict = self._as_numbers(a, b)
        if verdict is not None:
            return [] if verdict else [self._difference(a, b, there, here)]
        if a.op != b.op:
            if isinstance(a.ref, OwnLayer) and a.ref == b.ref:  # compared where both are built
                return self.of(a.args[0], b.args[0], a.spots[0], b.spots[0])
            return self._other_operation(a, b, there, here)
        if a.op == "call" and a.args[0].key != b.args[0].key and (path := _within(b, a) or _within(a, b)):
            return [self._difference(a, b, there, here, decided=all(map(self._is_known, path)))]
        if a.op == "new":
            return self._built(a, b, there, here)
        if a.value != b.value or len(a.args) != len(b.args) or a.names != b.names:
            return self._unlike(a, b, there, here)
        return self._operands(a, b, there, here)

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _as_numbers(self, a: Node, b: Node) -> bool | None:
        """Whether two values that follow from the constructor's arguments are equal; None where they do not follow."""
        pairs = [(probe.of(a), probe.of(b)) for probe in self.probes]
        if any(Unknown in pair for pair in pairs):
            return None
        equal = [same(*pair) for pair in pairs]
        if equal[0] and not equal[1]:
            # With the defaults they are equal. One that is written down where the other follows an argument is no
            # fault of the conversion; two that follow different arguments are.
            return not (_has_parameter(a) and _has_parameter(b))
        return equal[0]

    # -- operations ------------------------------------------------------------------------------------------------

    def _other_operation(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        for whole, other, is_mine in ((a, b, False), (b, a, True)):
            if whole.op == "f:reshape" or (
                whole.op.removeprefix("f:") in VIEWS and other.op.startswith("f:")
            ):
                inner = whole.args[0]
                return self.of(other, inner, there, here) if is_mine else self.of(inner, other, there, here)
        for whole, other, is_mine in ((a, b, False), (b, a, True)):
            if (inner_ := _guarded(whole)) is not None:
                return self.of(other, inner_, there, here) if is_mine else self.of(inner_, other, there, here)
        if (path := _within(b, a)) is not None:
            return [self._difference(a, b, there, here, decided=all(map(self._is_known, path)))]
        if (path := _within(a, b)) is not None:
            return [self._difference(a, b, there, here, decided=all(map(self._is_known, path)))]
        fits = self._is_known(b) or b.op != "getitem"
        return [self._difference(a, b, there, here, decided=fits and self._contrast(a, b))]

    def _contrast(self, a: Node, b: Node) -> bool:
        if self._all_decided or any(a.op in group and b.op in group for group in CONTRASTS):
            return True
        if {a.op, b.op} in ({"param", "const"}, {"self", "const"}):
            return self._is_known(a) and self._is_known(b) and (b.op != "const" or b.value is None)
        if a.op.removeprefix("f:") in INITIALISERS and not self._foreign(a, b):
            return True
        containers = {"modules", "seq", "f:dict", "f:list", "dict"}
        return "modules" in (a.op, b.op) and {a.op, b.op} <= containers

    def _foreign(self, a: Node, b: Node) -> bool:
        """Whether the distributed side computes by functions of the tree that the original does not call."""
        own = {node.op for node in reachable(a)}
        return any(not self._is_known(node) and node.op not in own for node in reachable(b))

    def _is_known(self, node: Node) -> bool:
        """Whether both sides have what a node names, so that it could have been written the same."""
        if node.op == "call":
            return self._is_known(node.args[0]) and not self._is_dropout(node.args[0])
        if node.op == "self":
            return node.value in self.theirs and node.value in self.mine
        if node.op == "getitem" and node.args[0].op == "received":
            return False  # what the stage before sends does not fit: rules of its own say so
        if node.op in ("opaque", "local", "global", "each"):
            return False
        if node.op.startswith("f:"):
            return not isinstance(node.ref, FunctionRef) or node.op in self._shared
        return True

    def _is_dropout(self, callee: Node) -> bool:
        """Dropout of a split value needs draws of its own: where it stands is not only a matter of copying."""
        made = self.original.attrs.get(str(callee.value))
        return made is not None and made.op == "new" and "Dropout" in str(made.value)

    def _unlike(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        """The same kind of operation on other operands in number or name, or another constant."""
        if a.op == "f:reshape":
            return self.of(a.args[0], b.args[0], a.spots[0], b.spots[0])
        if a.op == "self" and (a.value, b.value) in self._renamed:
            return []
        if a.op in ("self", "param", "const", "global", "attr", "config", "input", "each", "carried"):
            return [self._difference(a, b, there, here, decided=self._is_known(a) and self._is_known(b))]
        if len(a.args) == len(b.args) and sorted(a.names) != sorted(b.names) and "" in (*a.names, *b.names):
            return self._operands(a, b, there, here)  # by position here, by keyword there
        known = a.op == "seq" or (
            a.op != "f:range" and a.op.startswith("f:") and self._is_known(a) and self._is_known(b)
        )
        return [self._difference(a, b, there, here, decided=known)]

    def _operands(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        pairs = list(zip(a.args, b.args, a.spots, b.spots, strict=False))
        if a.op in COMMUTATIVE:
            pairs = _unmatched(pairs)
        unequal = [pair for pair in pairs if pair[0].key != pair[1].key]
        if a.op == "f:reshape":
            unequal = [pair for pair in pairs[:1] if pair[0].key != pair[1].key]
        if len(unequal) > 1 and Counter(p[0].key for p in unequal) == Counter(p[1].key for p in unequal):
            return [self._difference(a, b, there, here, what=tr("the order differs"))]
        if a.op == "getitem" and unequal and unequal[0][0] is a.args[1]:
            known = all(node.args[1].op == "const" for node in (a, b))
            return [self._difference(a, b, there, here, decided=known)]
        found: list[Difference] = []
        if a.op == "call" and a.args[0].key != b.args[0].key:
            callee = self.of(a.args[0], b.args[0], there, here)
            if any(difference.decided for difference in callee):
                return callee
            found, unequal = callee, [pair for pair in unequal if pair[0] is not a.args[0]]
        for theirs, mine, there_, here_ in unequal:
            found += self.of(theirs, mine, there_, here_)
        if a.op in ("loop", "append") and not all(difference.decided for difference in found):
            return [replace(difference, decided=False) for difference in found]  # built or run in another way
        return found

    def _built(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        if a.value != b.value and plain(str(a.value)).lower() != plain(str(b.value)).lower():
            foreign = not self.arguments.is_of_tree(a) and not self.arguments.is_of_tree(b)
            return [self._difference(a, b, there, here, decided=foreign)]
        found: list[Difference] = []
        changed = []
        for pair in self.arguments.pairs(a, b):
            if pair.theirs is not None and pair.mine is not None:
                if pair.theirs.key != pair.mine.key:
                    changed.append(pair)
            elif not self._is_default(pair.default, pair.theirs or pair.mine):
                decided = pair.default is not None
                spots = (pair.there or there, pair.here or here)
                what = (
                    tr("is left out")
                    if pair.mine is None
                    else tr("is given, which the original leaves at its default")
                )
                found.append(
                    Difference(*spots, tr("`%(name)s` %(what)s", name=pair.name, what=what), decided=decided)
                )
        keys = [(pair.theirs.key, pair.mine.key) for pair in changed if pair.theirs and pair.mine]
        if len(keys) > 1 and Counter(key for key, _ in keys) == Counter(key for _, key in keys):
            names = ", ".join(f"`{pair.name}`" for pair in changed)
            last = changed[0]
            return [
                *found,
                Difference(
                    last.there or there, last.here or here, tr("%(names)s change places", names=names)
                ),
            ]
        for pair in changed:
            if pair.theirs is not None and pair.mine is not None:
                found += self.of(pair.theirs, pair.mine, pair.there or there, pair.here or here)
        return found

    def _is_default(self, default: Node | None, given: Node | None) -> bool:
        if default is None or given is None:
            return False
        return default.key == given.key or self._as_numbers(default, given) is True

    def _difference(
        self, a: Node, b: Node, there: Spot, here: Spot, *, what: str = "", decided: bool = True
    ) -> Difference:
        return Difference(there, here, what, (a, b), decided or self._all_decided)


def _bag(node: Node) -> Counter[str]:
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
            name = f"call {part.args[0].value}" if part.op == "call" else part.op
            found["loop" if name == "first turn" else name] += 1
    return found


def _has_parameter(node: Node) -> bool:
    return any(part.op == "param" for part in reachable(node))


def _guarded(node: Node) -> Node | None:
    """What a value is where its `None` test finds something: guards are written on one side only."""
    if node.op == "if" and node.args[0].op == "is":
        if any(arg.op == "const" and arg.value is None for arg in node.args[0].args):
            return node.args[2]
    return None


def _within(whole: Node, part: Node, depth: int = _DEEP) -> list[Node] | None:
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
            path = _within(arg, part, depth - 1)
            if path is not None:
                return [whole, *path]
    return None


Pair = tuple[Node, Node, Spot, Spot]


def _unmatched(pairs: list[Pair]) -> list[Pair]:
    """The operands of a sum or product that the other side has not."""
    theirs = [(pair[0], pair[2]) for pair in pairs]
    mine = [(pair[1], pair[3]) for pair in pairs]
    for own in list(theirs):
        match = next((other for other in mine if other[0].key == own[0].key), None)
        if match is not None:
            theirs.remove(own)
            mine.remove(match)
    return [(a, b, there, here) for (a, there), (b, here) in zip(theirs, mine, strict=True)]
