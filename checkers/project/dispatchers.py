"""One class that builds another part of the model on each pipeline stage: what it builds, and where.

The constructor asks how many stages there are and which one this is, and its branches set different attributes.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .project import Project

_ASKS = re.compile(
    r"get_pipeline_model_parallel_(rank|world_size)|is_pipeline_(first|last)_stage|is_pp_(first|last)_stage"
    r"|\bpre_process\b|\bpost_process\b|\bpp_(rank|size)\b"
)
_SIZE = re.compile(r"world_size|pp_size|num_stages|pipeline_(model_)?parallel_size")
FIRST, MIDDLE, LAST, ONLY = "first", "middle", "last", "only"


@dataclass(eq=False)
class Branch:
    """What the constructor sets on one kind of stage; `stages` is the number of stages where a test names it."""

    node: ast.stmt
    place: str = ""
    stages: int | None = None
    at_least: bool = False
    values: dict[str, ast.expr] = field(default_factory=dict)

    @property
    def receives(self) -> bool:
        """Whether tensors of another stage come in here."""
        return self.place in (MIDDLE, LAST)

    @property
    def parts(self) -> dict[str, ast.Call]:
        """The modules that it builds, by attribute."""
        return {name: value for name, value in self.values.items() if isinstance(value, ast.Call)}

    @property
    def texts(self) -> dict[str, str]:
        """Attributes that it sets to a text, such as the kind of the stage."""
        return {
            name: value.value
            for name, value in self.values.items()
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        }


def branches(project: Project, cls: ClassFacts) -> list[Branch]:
    """What a class builds on each kind of stage; empty where it is no dispatcher."""
    return project.knowledge(_Dispatchers).of(cls)


def dispatches(project: Project, cls: ClassFacts) -> bool:
    """Whether a class builds different parts of the model on different pipeline stages."""
    return len(branches(project, cls)) > 1


class _Dispatchers:
    def __init__(self, project: Project) -> None:
        self._found: dict[int, list[Branch]] = {}

    def of(self, cls: ClassFacts) -> list[Branch]:
        if id(cls) not in self._found:
            init = cls.methods.get("__init__")
            found = _branches(init) if init is not None and _ASKS.search(cls.text) else []
            built = {frozenset(branch.parts) for branch in found}
            self._found[id(cls)] = found if len(built) > 1 else []
        return self._found[id(cls)]


def _branches(init: ast.FunctionDef) -> list[Branch]:
    names = _names(init)
    found: list[Branch] = []
    for statement in init.body:
        if isinstance(statement, ast.If) and _asked(statement.test, names):
            _leaves(statement, names, Branch(statement), found)
    return found


def _names(init: ast.FunctionDef) -> dict[str, str]:
    """Local names that hold the own stage or the number of stages, with the question behind them."""
    found: dict[str, str] = {}
    for node in walk(init):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call):
            text = ast.unparse(node.value.func)
            if _ASKS.search(text):
                found[ast.unparse(node.targets[0])] = text
    return found


def _asked(test: ast.expr, names: dict[str, str]) -> str:
    """The question about the stage that a test asks, or an empty text."""
    for part in walk(test):
        if isinstance(part, ast.Name | ast.Attribute):
            text = ast.unparse(part)
            if text in names:
                return names[text]
            if _ASKS.search(text):
                return text
    return ""


def _leaves(node: ast.If, names: dict[str, str], around: Branch, found: list[Branch]) -> None:
    """The blocks that a chain of tests ends in, one branch each."""
    taken = _narrowed(around, node.test, names, True)
    _block(node.body, names, taken, found)
    other = _narrowed(around, node.test, names, False)
    if node.orelse:
        _block(node.orelse, names, other, found)


def _block(body: list[ast.stmt], names: dict[str, str], branch: Branch, found: list[Branch]) -> None:
    inner = [part for part in body if isinstance(part, ast.If) and _asked(part.test, names)]
    if inner:
        for part in inner:
            _leaves(part, names, branch, found)
        return
    values = {
        node.targets[0].attr: node.value
        for part in body
        for node in walk(part)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and ast.unparse(node.targets[0].value) == "self"
    }
    if values:
        found.append(Branch(body[0], branch.place, branch.stages, branch.at_least, values))


def _narrowed(around: Branch, test: ast.expr, names: dict[str, str], side: bool) -> Branch:
    """Which stages are left on one side of a test."""
    place, stages, at_least = around.place, around.stages, around.at_least
    question = _asked(test, names)
    right = test.comparators[0] if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    number = right.value if isinstance(right, ast.Constant) and isinstance(right.value, int) else None
    operator = test.ops[0] if isinstance(test, ast.Compare) else None
    if _SIZE.search(question):
        if side and number is not None and isinstance(operator, ast.Eq | ast.GtE | ast.Gt):
            stages = number + 1 if isinstance(operator, ast.Gt) else number
            at_least = not isinstance(operator, ast.Eq)
            place = ONLY if stages == 1 and not at_least else place
        return Branch(around.node, place, stages, at_least)
    is_first = "first_stage" in question or "pre_process" in question or (number == 0)
    is_last = "last_stage" in question or "post_process" in question or isinstance(right, ast.BinOp)
    if isinstance(operator, ast.NotEq) or isinstance(test, ast.UnaryOp):
        side = not side
    if is_first:
        place = FIRST if side else (LAST if stages == 2 and not at_least else MIDDLE)
    elif is_last:
        place = LAST if side else (FIRST if stages == 2 and not at_least else place or FIRST)
    return Branch(around.node, place, stages, at_least)


def blocks_of(project: Project, cls: ClassFacts, branch: Branch) -> int | None:
    """How many blocks the parts of one branch build in loops; None where one count is not known."""
    counts = []
    for call in branch.parts.values():
        ref = project.resolve_expression(cls.module, call.func)
        found = project.method(ref, "__init__") if isinstance(ref, ClassFacts) else None
        if found is None:
            return None
        counts.append(_looped(found[1], {word.arg: word.value for word in call.keywords}))
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _looped(init: ast.FunctionDef, given: dict[str | None, ast.expr]) -> int | None:
    """The turns of the loops in which a constructor builds modules."""
    spec = init.args
    names = [arg.arg for arg in spec.args]
    defaults = dict(zip(reversed(names), reversed(spec.defaults), strict=False))
    total = 0
    for node in walk(init):
        if not isinstance(node, ast.For | ast.comprehension) or not isinstance(node.iter, ast.Call):
            continue
        if ast.unparse(node.iter.func) != "range":
            continue
        ends = [
            _number(given.get(ast.unparse(arg), defaults.get(ast.unparse(arg), arg)))
            for arg in node.iter.args
        ]
        if None in ends or not 1 <= len(ends) <= 2:
            return None
        total += (ends[-1] or 0) - (ends[0] or 0 if len(ends) == 2 else 0)
    return total


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
