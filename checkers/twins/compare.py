"""Two graphs of operations walked together: where they part, and whether that is sure to matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..language import tr
from ..project.project import FunctionRef
from .anchors import anchored
from .arguments import Arguments, is_kept_back
from .difference import Difference
from .frames import OwnLayer, Side
from .graphs import (
    BRANCHES,
    calls_of_layers,
    cuts_out_of,
    enters,
    guarded,
    has_parameter,
    is_count,
    is_input,
    lacks_entry,
    operation,
    operations,
    starts_later,
    unmatched,
    within,
)
from .held import last_return, renamed
from .names import COMMUTATIVE, CONTRASTS, INITIALISERS, TRAITS, VIEWS, plain
from .nodes import Node, Spot, reachable
from .probe import Probe, Unknown, same, turns_alike

_UNPACKS = frozenset("getitem if is and or not seq received f:tuple f:list f:isinstance".split())
_ENOUGH = 0.6


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
        self._lost: set[str] = set()
        self._shared: set[str] = set()
        self._calls: list[list[Node]] = [[], []]
        self._uneven = 0

    def results(self, a: Node, b: Node) -> list[Difference] | None:
        """Compare what two methods return; None where they are not alike enough."""
        first, second = operations(a), operations(b)
        most = max(first.total(), second.total(), 1)
        if (first & second).total() / most < _ENOUGH:
            computes = first.keys() & {"loop"} or calls_of_layers(a)
            return [self._lost_result(a, b)] if computes and is_input(b) else None
        own, other = (
            {part.op for part in reachable(node) if isinstance(part.ref, FunctionRef)} for node in (a, b)
        )
        self._shared = own & other
        self._all_decided = first == second
        lost = set() if second - first else (first - second).keys() - BRANCHES
        self._lost = {name for name in lost if name not in second or not self._is_dropout(name)}
        self._calls = [calls_of_layers(node) for node in (a, b)]
        found = self.of(a, b, a.spot, b.spot)
        for theirs, mine in anchored(a, b):
            found += self.of(theirs, mine, theirs.spot, mine.spot)
        self._all_decided, self._lost = False, set()
        return found

    def _lost_result(self, a: Node, b: Node) -> Difference:
        spots = [last_return(side) for side in (self.original, self.sides[-1])]
        what = tr("the input is returned, and what the layers compute is lost")
        return self._difference(a, b, spots[0] or a.spot, spots[1] or b.spot, what=what)

    def of(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        """The differences of two nodes, written at `there` and `here`."""
        if a.key == b.key or (a.key, b.key) in self._done:
            return []
        self._done.add((a.key, b.key))
        verdict = self._as_numbers(a, b)
        if verdict is None and not self._uneven:
            verdict = turns_alike(a, b, self.probes[2])
        if verdict is not None:
            return [] if verdict else [self._difference(a, b, there, here)]
        if a.op != b.op:
            if isinstance(a.ref, OwnLayer) and a.ref == b.ref:  # compared where both are built
                return self.of(a.args[0], b.args[0], a.spots[0], b.spots[0])
            return self._other_operation(a, b, there, here)
        if a.op == "call" and a.args[0].key != b.args[0].key and (path := within(b, a) or within(a, b)):
            return [self._difference(a, b, there, here, decided=self._decides(path))]
        if a.op == "new":
            return self._built(a, b, there, here)
        if (a.op == "attr" and a.value == b.value and a.value in TRAITS) or a.op == "f:size":
            return []  # other tensors, perhaps of one shape
        if a.value != b.value or len(a.args) != len(b.args) or a.names != b.names:
            return self._unlike(a, b, there, here)
        return self._operands(a, b, there, here)

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _as_numbers(self, a: Node, b: Node) -> bool | None:
        """Whether two values that follow from the constructor's arguments are equal; None where they do not follow."""
        pairs = [(probe.of(a), probe.of(b)) for probe in self.probes]
        if any(Unknown in pair for pair in pairs[:2]):
            is_choice = a.op == b.op and a.op in ("or", "and", "if") and Unknown not in pairs[2]
            return False if is_choice and not same(*pairs[2]) and has_parameter(b) else None
        equal = [same(*pair) for pair in pairs]
        if equal[0] and not equal[1]:
            # With the defaults they are equal. One that is written down where the other follows an argument is no
            # fault of the conversion; two that follow different arguments are.
            return not (has_parameter(a) and has_parameter(b))
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
            if (inner_ := guarded(whole)) is not None:
                return self.of(other, inner_, there, here) if is_mine else self.of(inner_, other, there, here)
        if (path := within(b, a)) is not None:
            return [self._difference(a, b, there, here, decided=self._decides(path))]
        if (path := within(a, b)) is not None:
            return [self._difference(a, b, there, here, decided=self._decides(path))]
        if any(cuts_out_of(*pair) for pair in ((a, b), (b, a))):
            return [self._difference(a, b, there, here)]
        if b.op == "getitem" and b.args[0].op == a.op and a.op.startswith("f:"):
            return [self._difference(a, b, there, here, decided=False), *self.of(a, b.args[0], there, here)]
        if b.op == "if":  # a case that only split code knows, and the usual one
            branch = next((arg for arg in b.args[1:] if arg.op == a.op and a.op.startswith("f:")), None)
            if branch is not None:
                return [
                    self._difference(a, b, there, here, decided=False),
                    *self.of(a, branch, there, branch.spot),
                ]
        theirs, mine = self._calls
        if enters(a, b, mine) or enters(b, a, theirs):  # what a layer takes, and what it gives
            return [self._difference(a, b, there, here, decided=self._is_known(a) or self._is_known(b))]
        fits = self._is_known(b) or b.op != "getitem"
        decided = self._is_lost(a) or (fits and self._contrast(a, b))
        return [self._difference(a, b, there, here, decided=decided)]

    def _is_lost(self, node: Node) -> bool:
        """Whether the original does something that the distributed code does nowhere, and this does nothing else."""
        is_own = node.op != "call" or node.args[0].op == "self"
        return is_own and operation(node) in self._lost and not isinstance(node.ref, FunctionRef)

    def _decides(self, path: list[Node]) -> bool:
        """Whether what one side does besides is sure to matter: not where it only unpacks what a stage received."""
        unpacked = {node.op for node in path} <= _UNPACKS and path[-1].op in ("seq", "received")
        return not unpacked and all(self._is_known(node) or self._is_lost(node) for node in path)

    def _contrast(self, a: Node, b: Node) -> bool:
        if self._all_decided or any(a.op in group and b.op in group for group in CONTRASTS):
            return True
        if b.op == "const" and b.value is None and a.op not in ("param", "const"):
            return all(map(self._is_known, reachable(a)))
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
            return self._is_known(node.args[0]) and not self._is_dropout(str(node.args[0].value))
        if node.op == "self":
            return node.value in self.theirs and node.value in self.mine
        if node.op == "getitem":
            if node.args[0].op == "received":
                return False  # what the stage before sends does not fit: rules of its own say so
            return all(self._is_known(part) for part in reachable(node.args[1]))
        if node.op in ("opaque", "local", "global", "each"):
            return False
        if node.op.startswith("f:"):
            return not isinstance(node.ref, FunctionRef) or node.op in self._shared
        return True

    def _is_dropout(self, name: str) -> bool:
        """Dropout of a split value needs draws of its own: where it stands is not only a matter of copying."""
        made = self.original.attrs.get(name.removeprefix("call "))
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
        known = (a.op, b.op) == ("dict", "dict") and lacks_entry(a, b)
        known = known or ((a.op, b.op) == ("f:range", "f:range") and starts_later(a, b))
        known = (
            known
            or a.op == "seq"
            or (a.op != "f:range" and a.op.startswith("f:") and self._is_known(a) and self._is_known(b))
        )
        return [self._difference(a, b, there, here, decided=known)]

    def _operands(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        pairs = list(zip(a.args, b.args, a.spots, b.spots, strict=False))
        if a.op in COMMUTATIVE:
            pairs = unmatched(pairs)
        unequal = [pair for pair in pairs if pair[0].key != pair[1].key]
        if a.op == "f:reshape":
            unequal = [pair for pair in pairs[:1] if pair[0].key != pair[1].key]
        if len(unequal) > 1 and Counter(p[0].key for p in unequal) == Counter(p[1].key for p in unequal):
            return [self._difference(a, b, there, here, what=tr("the order differs"))]
        if a.op == "getitem" and unequal and unequal[0][0] is a.args[1]:
            index = [node.args[1] for node in (a, b)]
            known = all(node.op == "const" for node in index)
            known = known or (not self._uneven and all(map(is_count, index)))
            return [self._difference(a, b, there, here, decided=known)]
        found: list[Difference] = []
        uneven = a.op in ("comp", "loop") and unequal[:1] == pairs[:1]
        self._uneven += uneven
        if a.op == "call" and a.args[0].key != b.args[0].key:
            callee = self.of(a.args[0], b.args[0], there, here)
            if any(difference.decided for difference in callee):
                return callee
            found, unequal = callee, [pair for pair in unequal if pair[0] is not a.args[0]]
        for theirs, mine, there_, here_ in unequal:
            found += self.of(theirs, mine, there_, here_)
        self._uneven -= uneven
        if a.op in ("loop", "append") and not all(difference.decided for difference in found):
            return [replace(difference, decided=False) for difference in found]  # built or run in another way
        return found

    def _built(self, a: Node, b: Node, there: Spot, here: Spot) -> list[Difference]:
        if a.value != b.value and plain(str(a.value)).lower() != plain(str(b.value)).lower():
            foreign = not self.arguments.is_of_tree(a) and not self.arguments.is_of_tree(b)
            foreign = foreign or {a.value, b.value} == {"DropPath", "Dropout"}
            return [self._difference(a, b, there, here, decided=foreign)]
        found: list[Difference] = []
        changed = []
        for pair in self.arguments.pairs(a, b):
            if pair.theirs is not None and pair.mine is not None:
                if pair.theirs.key != pair.mine.key:
                    changed.append(pair)
            elif is_kept_back(pair, self.sides) or not self._is_default(
                pair.default, pair.theirs or pair.mine
            ):
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
