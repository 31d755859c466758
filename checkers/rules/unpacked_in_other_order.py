"""E7772"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code
from ..finding import Evidence, Finding
from ..language import tr
from ..project.places import is_test
from ..project.project import FunctionRef, Project, dotted_name
from ..project.scopes import nodes_near
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_UNPACKS = re.compile(r"^[ \t]*[\w.]+(?:, [\w.]+)+ = [\w.]+\(", re.MULTILINE)
_ENOUGH = 2
"""Places of the tree that must agree before another order is called a mistake."""


@dataclass(frozen=True, eq=False)
class Unpacking:
    """`fine, coarse = grids(...)`: where, and the names without `self.`."""

    module: ModuleFacts
    target: ast.Tuple
    names: tuple[str, ...]


class UnpackedInOtherOrder(Rule):
    """What a function returns is unpacked into the names that the rest of the tree uses, in another order."""

    code, symbol = "E7772", "unpacked-in-other-order"
    message = "`%(names)s` is what `%(function)s` gives as `%(order)s` in %(count)d other places"
    advice = "Unpack it as `%(order)s`."
    why = "The names say what the values are; in another order each is read as the other."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "shapes of a boundary do not fit, or the wrong value is used under a right name"
    limits = "A function of the tree that at least two other places unpack into the same names, all in one other order."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The exchange may be meant."

    bad = """
    # one rank of tensor_parallel layers
    def grids(size):
        return size, size // 2


    def first_stage(size):
        fine, coarse = grids(size)
        return fine + coarse


    def second_stage(size):
        fine, coarse = grids(size)
        return coarse


    def boundary(size):
        coarse, fine = grids(size)  # [unpacked-in-other-order]
        return [fine, coarse]
    """
    good = bad.replace(
        "coarse, fine = grids(size)  # [unpacked-in-other-order]", "fine, coarse = grids(size)"
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for function, places in analysis.project.knowledge(_unpackings).items():
            by_names: defaultdict[frozenset[str], list[Unpacking]] = defaultdict(list)
            for place in places:
                by_names[frozenset(place.names)].append(place)
            for found in by_names.values():
                orders = Counter(place.names for place in found)
                usual, count = orders.most_common(1)[0]
                odd = [place for place in found if place.names != usual]
                if len(odd) != 1 or count < _ENOUGH:
                    continue
                other = next(place for place in found if place.names == usual)
                yield self._finding(function, odd[0], other, count)

    def _finding(self, function: ast.FunctionDef, odd: Unpacking, other: Unpacking, count: int) -> Finding:
        written = dict(zip(odd.names, map(as_code, odd.target.elts), strict=True))
        order = ", ".join(written[name] for name in other.names)
        step = Evidence(other.module.display, other.target.lineno, tr("one of the other places"))
        return self.finding(
            place_of(odd.module, odd.target),
            object=function.name,
            evidence=(step,),
            fix=unsafe(replace(odd.module, odd.target, order)),
            names=", ".join(written.values()),
            function=function.name,
            order=order,
            count=count,
        )


def _unpackings(project: Project) -> dict[ast.FunctionDef, list[Unpacking]]:
    """Where the functions of the tree are unpacked, outside tests."""
    found: defaultdict[ast.FunctionDef, list[Unpacking]] = defaultdict(list)
    for module in project.modules:
        lines = {module.text.count("\n", 0, match.end()) + 1 for match in _UNPACKS.finditer(module.text)}
        if not lines or is_test(module.display, module.text):
            continue
        for node in nodes_near(module.tree, lines):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Call):
                continue
            names = tuple(as_code(part).removeprefix("self.") for part in target.elts)
            dotted = dotted_name(value.func)
            if "_" in names or len(set(names)) < len(names) or dotted is None:
                continue
            ref = project.resolve(module, dotted)
            if isinstance(ref, FunctionRef):
                found[ref.node].append(Unpacking(module, target, names))
    return found
