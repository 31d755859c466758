"""Tests on the own rank: which ranks of a group give different answers."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..facts.nodes import as_code
from . import names
from .axes import MAX_DEPTH, group_axes, last_name, rank_function, size_axes, source_axes, varies
from .engines import stage_test
from .frames import Frame, kept, returns
from .names import PP, WORLD, Axes
from .options import asked as own_property


@dataclass(frozen=True)
class Atom:
    """One question about the own rank; `subject` says which rank, `value` which answer."""

    subject: str
    value: str
    axes: Axes


Formula = Atom | tuple[str, tuple["Formula", ...]] | str
"""An atom, ("and" | "or" | "not", parts), or the text of a test on anything else."""
Known = dict[Atom | str, bool]
"""Answers to questions about the own rank, and to other tests by their text."""


@kept
def condition(node: ast.expr, frame: Frame, depth: int) -> Formula:
    """A test as a formula over questions about the own rank."""
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        return word, tuple(condition(part, frame, depth) for part in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "not", (condition(node.operand, frame, depth),)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        if _is_given(node, frame):
            return ("or" if isinstance(node.ops[0], ast.Is) else "and"), ()  # never holds, or always
        return _compared(node, frame) or as_code(node)
    if isinstance(node, ast.Constant):
        return ("and" if node.value else "or"), ()  # holds always, or never
    if isinstance(node, ast.Call):
        return _asked(node, frame, depth)
    if isinstance(node, ast.Name | ast.Attribute):
        return _flag(node, frame, depth)
    return as_code(node)


def _is_given(node: ast.Compare, frame: Frame) -> bool:
    """`x is None` of a parameter that the followed call gives what another call made."""
    if not isinstance(node.ops[0], ast.Is | ast.IsNot) or as_code(node.comparators[0]) != "None":
        return False
    if not isinstance(node.left, ast.Name) or node.left.id not in frame.given:
        return False
    if any(getattr(value, "lineno", 0) <= node.lineno for value in frame.scope.bound.get(node.left.id, [])):
        return False  # it holds something else by then
    given = frame.given[node.left.id]
    value, where = given
    made = where.definitions(value) if isinstance(value, ast.Name) else [(value, where)]
    return bool(made) and all(isinstance(part, ast.Call | ast.Dict | ast.List) for part, _ in made)


def _asked(node: ast.Call, frame: Frame, depth: int) -> Formula:
    name = frame.called(node.func)
    asked = stage_test(node, frame)
    if name in names.FIRST_STAGE or asked == "is_first_stage":
        return Atom("pp", "0", PP)
    if name in names.LAST_STAGE or asked:
        return Atom("pp", "last", PP)
    if name in ("is_initialized", "is_available") and frame.external(node.func).startswith(
        "torch.distributed"
    ):
        return "and", ()  # the same on all ranks, and where it does not hold there are no others
    inner = frame.callee(node) if depth < MAX_DEPTH else None
    values = returns(inner) if inner is not None else []
    if inner is not None and len(values) == 1:
        found = condition(values[0], inner, depth + 1)
        if atoms_of(found):
            return found
    if name in names.MAIN_RANK:
        return Atom("world", "0", WORLD)
    axes = rank_function(node, frame)
    return ("not", (Atom(_subject(axes), "0", axes),)) if axes else as_code(node)


def _flag(node: ast.Name | ast.Attribute, frame: Frame, depth: int) -> Formula:
    name = last_name(node).lstrip("_")
    if isinstance(node, ast.Attribute) and name in ("is_first_rank", "is_last_rank"):
        axes = group_axes(node.value, frame)
        if axes:
            return Atom(_subject(axes), "0" if name == "is_first_rank" else "last", axes)
    found = frame.definitions(node) if depth < MAX_DEPTH else []
    if len(found) == 1:
        given = found[0][0]
        if isinstance(given, ast.Constant) and isinstance(node, ast.Name) and node.id in frame.given:
            return ("and" if given.value else "or"), ()  # holds always, or never
        formula = condition(found[0][0], found[0][1], depth + 1)
        if atoms_of(formula):
            return formula
        axes = varies(found[0][0], found[0][1])
        if axes:
            return "not", (Atom(_subject(axes), "0", axes),)
    asked = own_property(frame, node) if depth < MAX_DEPTH and not found else None
    values = returns(asked) if asked is not None else []
    if asked is not None and len(values) == 1 and atoms_of(made := condition(values[0], asked, depth + 1)):
        return made
    if name in ("pre_process", "post_process"):
        return Atom("pp", "0" if name == "pre_process" else "last", PP)
    return as_code(node)


def _compared(node: ast.Compare, frame: Frame) -> Formula | None:
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple):
        held = [part for part in right.elts if as_code(part) != "-1"]  # -1 says that nothing is distributed
        if not held or (len(held) == 1 and not isinstance(held[0], ast.Constant)):
            return None
        single = [_compared(ast.Compare(left, [ast.Eq()], [part]), frame) for part in held]
        if len(held) > 2 or any(part is None for part in single):
            return None
        found: Formula = single[0] or "" if len(single) == 1 else ("or", tuple(part or "" for part in single))
        return found if isinstance(operator, ast.In) else ("not", (found,))
    axes, other = varies(left, frame), varies(right, frame)
    if axes is None or (not axes and other):
        left, right, axes, other = right, left, other, axes
    if not axes:
        return None
    is_swapped = left is not node.left
    source = source_axes(right, frame)
    if axes == WORLD:
        if source is not None:
            axes, value = source, "0" if "last" not in as_code(right) else "last"
        elif isinstance(right, ast.Constant) or _is_last(right, frame):
            value = "last" if _is_last(right, frame) else as_code(right)
        else:
            return None
    else:
        value = "last" if _is_last(right, frame) else as_code(right)
    if value in ("-1", "None") or other:
        return None
    subject = _subject(axes) if isinstance(left, ast.Name | ast.Attribute | ast.Call) else as_code(left)
    atom = Atom(subject, value, axes)
    if isinstance(operator, ast.Eq):
        return atom
    if isinstance(operator, ast.NotEq):
        return "not", (atom,)
    if value == "0" and isinstance(operator, ast.Lt if is_swapped else ast.Gt):
        return "not", (atom,)
    return None


def _is_last(node: ast.expr, frame: Frame) -> bool:
    """`size - 1`"""
    is_less = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and as_code(node.right) == "1"
    return is_less and ("size" in as_code(node.left) or size_axes(node.left, frame) is not None)  # type: ignore[attr-defined]


def _subject(axes: Axes) -> str:
    return names.text_of(axes)


def atoms_of(formula: Formula) -> set[Atom]:
    """The questions about ranks in a formula."""
    if isinstance(formula, Atom):
        return {formula}
    if isinstance(formula, str):
        return set()
    return {atom for part in formula[1] for atom in atoms_of(part)}


def decide(formula: Formula, known: Known) -> bool | None:
    """Whether a formula holds when some questions are answered; None where the answer hangs on others."""
    if isinstance(formula, Atom | str):
        return known.get(formula)
    word, parts = formula
    found = [decide(part, known) for part in parts]
    if word == "not":
        return None if found[0] is None else not found[0]
    settles = word == "or"
    if settles in found:
        return settles
    return None if None in found else not settles
