"""E7131"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..project.scopes import Opaque
from ..rule import Rule, Symptom
from ..spmd.axes import rank_function
from ..spmd.frames import Attributes, Definition, Frame, functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RANKS = re.compile(r"_rank\b|_rank\(")
_LOADERS = re.compile(r"weight_loader")
_CUTS = re.compile(r"\.narrow\(|return |_rank\(\) \*")
_END = re.compile(r"(hi|high|end|stop|upper|last)(_\w+)?|\w+_(hi|end|stop)")
_START = re.compile(r"(lo|low|start|begin|lower|first)(_\w+)?|\w+_(lo|start|begin)")
_SIZES = re.compile(r"world_size|\bworld\b|_size\b|\btp\b|tp_|stages|\bpp\b|ranks")


class RankPartMisplaced(Rule):
    """What a rank takes of a whole begins at the wrong place, or has the wrong length."""

    code, symbol = "E7131", "rank-part-misplaced"
    message = "`%(cut)s` is not the rank's part: %(problem)s"
    advice = "Write `%(typed)s`."
    why = "Rank r has the r-th of the equal parts: from r times the length of a part on, and that long."
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "an index out of range on every rank but the first, or ranks that share a part and leave others out"
    )
    limits = (
        "Where the length is written as the whole divided by the number of ranks, or where start and end come from one "
        "call; silent for parts that are not equal."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The parts may be cut in another way that is not seen here."

    bad = """
    import torch
    from megatron.core import parallel_state


    def own_rows(table, rows):
        share = rows // parallel_state.get_tensor_model_parallel_world_size()
        first = parallel_state.get_tensor_model_parallel_rank() * rows
        return table.narrow(0, first, share)  # [rank-part-misplaced]
    """
    good = bad.replace("rank() * rows", "rank() * share").replace("  # [rank-part-misplaced]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _LOADERS):
            for cut, dim, split, name in _other_dimensions(frame):
                yield self.finding(
                    place_of(frame.module, cut),
                    object=frame.cls.name if frame.cls is not None else "",
                    cut=as_code(cut),
                    problem=tr(
                        "it cuts dimension %(dim)s, and `%(name)s` is split along dimension %(split)s",
                        dim=dim,
                        name=name,
                        split=split,
                    ),
                    advice="%(typed)s",
                    typed=tr(
                        "Cut dimension %(split)s, and take the length of the part from it.", split=split
                    ),
                )
        for frame in functions(analysis.project, _RANKS, _CUTS):
            for node, start, length in _parts(frame):
                found = _problem(frame, node, start, length)
                if found is not None:
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.function_name,
                        cut=as_code(node),
                        fix=None
                        if found[1].startswith("rank *")
                        else unsafe(replace(found[3].module, found[2], found[4])),
                        problem=found[0],
                        typed=found[1],
                    )


def _parts(frame: Frame) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """`x.narrow(dim, start, length)` and a returned `(start, length)`."""
    for node in frame.scope.nodes:
        if type(node) is ast.Call and isinstance(node.func, ast.Attribute) and node.func.attr == "narrow":
            if len(node.args) == 3 and not node.keywords:
                yield node, node.args[1], node.args[2]
        elif type(node) is ast.Return and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            start, end = node.value.elts
            is_end = (
                isinstance(end, ast.BinOp)
                and isinstance(end.op, ast.Add)
                and as_code(end.left) == as_code(start)
            )
            yield node.value, start, end.right if is_end and isinstance(end, ast.BinOp) else end


Problem = tuple[str, str, ast.expr, Frame, str]
"""What is wrong, what to type, and the edit: which node, where, and its text."""


def _problem(frame: Frame, node: ast.expr, start: ast.expr, length: ast.expr) -> Problem | None:
    ends = _end_given(frame, start, length) if isinstance(node, ast.Call) else None
    sized = _other_size(frame, node, start) if isinstance(node, ast.Call) else None
    if sized is not None:
        told, dim = sized
        problem = tr("`%(told)s` is the size of another dimension than the one cut", told=as_code(told))
        right = f"{as_code(told.value)}[{dim}]"
        return problem, right, told, frame, right
    if ends is not None:
        problem = tr("its third argument is a length, and `%(end)s` is an end", end=as_code(length))
        return problem, ends, length, frame, ends
    spanned = _one(frame, start) if isinstance(node, ast.Call) else None
    if spanned is not None and (factor := _whole_length(spanned, node)) is not None:
        problem = tr("it begins at the rank times `%(whole)s`, which is the whole", whole=as_code(factor))
        return problem, f"rank * {as_code(length)}", factor, spanned[1], as_code(length)
    share = _one(frame, length)
    if share is None or not isinstance(share[0], ast.BinOp) or not isinstance(share[0].op, ast.FloorDiv):
        return None
    if not _SIZES.search(as_code(share[0].right)):
        return None
    whole, part = as_code(share[0].left), as_code(length)
    begin = _one(frame, start)
    product = begin[0] if begin is not None else None
    if begin is not None and _is_first(frame, node, product):
        return tr("it begins at 0 on every rank"), f"rank * {part}", start, frame, f"rank * {part}"
    if begin is not None and isinstance(node, ast.Call) and _is_rank(begin[0], begin[1]):
        right = f"{as_code(begin[0])} * {part}"
        return tr("it begins at the number of the rank"), right, begin[0], begin[1], right
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult) or begin is None:
        return None
    sides = (product.left, product.right)
    for rank, factor in (sides, sides[::-1]):
        if _is_rank(rank, begin[1]) and as_code(factor) == whole:
            problem = tr("it begins at the rank times `%(whole)s`, which is the whole", whole=whole)
            return problem, f"{as_code(rank)} * {part}", factor, begin[1], part
    return None


def _whole_length(start: Definition, node: ast.expr) -> ast.expr | None:
    """`rank * x.shape[d]` as the start of a part of `x` itself."""
    product, where = start
    of = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if of is None or not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    text = as_code(of)
    for rank, factor in ((product.left, product.right), (product.right, product.left)):
        if as_code(factor).startswith((f"{text}.shape[", f"{text}.size(")) and _is_rank(rank, where):
            return factor
    return None


def _is_first(frame: Frame, node: ast.expr, start: ast.expr | None) -> bool:
    """The first part, on every rank, of what the class marks as split over the ranks."""
    is_zero = isinstance(start, ast.Constant) and start.value == 0
    function = frame.scope.function
    if not is_zero or not isinstance(node, ast.Call) or frame.cls is None or function is None:
        return False
    if _is_loader(function) and not re.search("rank", as_code(function)):
        return isinstance(node.func, ast.Attribute) and as_code(node.func.value) in _loaded(function)
    return "set_tensor_model_parallel_attributes" in frame.cls.text and "rank(" not in as_code(function)


def _is_loader(function: ast.FunctionDef) -> bool:
    """`weight_loader(self, param, loaded_weight, ...)`, whose part goes into the parameter."""
    return "weight_loader" in function.name and ".copy_(" in as_code(function)


def _loaded(function: ast.FunctionDef) -> list[str]:
    """The parameter that brings the whole weight."""
    return [arg.arg for arg in function.args.args if arg.arg.startswith(("loaded", "full_", "weight"))]


def _other_dimensions(frame: Frame) -> Iterator[tuple[ast.Call, int, int, str]]:
    """Cuts by rank, in a loader, along another dimension than the one parameter of the class is split along."""
    function = frame.scope.function
    if function is None or frame.cls is None or not _is_loader(function):
        return
    held = frame.project.knowledge(Attributes).of(frame.cls)
    shapes = [
        (name, value, scope)
        for name, values in held.items()
        for value, scope in values
        if _is_parameter(value)
    ]
    if len(shapes) != 1:
        return
    name, made, scope = shapes[0]
    inside = made.args[0] if isinstance(made, ast.Call) and made.args else None
    sizes = inside.args if isinstance(inside, ast.Call) else []
    where = Frame(frame.project, scope, frame.cls)
    split = [at for at, size in enumerate(sizes) if _is_share(where, size)]
    if len(sizes) != 2 or len(split) != 1:
        return
    for node in frame.scope.calls:
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "narrow" or len(node.args) != 3:
            continue
        dim = node.args[0]
        start = _one(frame, node.args[1])
        begins = as_code(start[0]) if start is not None else ""
        if as_code(node.func.value) in _loaded(function) and "rank" in begins:
            if isinstance(dim, ast.Constant) and type(dim.value) is int and dim.value == 1 - split[0]:
                yield node, dim.value, split[0], name


def _is_parameter(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and as_code(node.func).rpartition(".")[2] == "Parameter"


def _is_share(frame: Frame, size: ast.expr) -> bool:
    """`n // tp_size`, also by name."""
    made = _one(frame, size)
    value = made[0] if made is not None else None
    is_divided = isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv)
    return is_divided and _SIZES.search(as_code(value.right)) is not None  # type: ignore[union-attr]


def _end_given(frame: Frame, start: ast.expr, length: ast.expr) -> str | None:
    """The length that is meant, where both ends of a part come from one call and are named so."""
    if not (isinstance(start, ast.Name) and isinstance(length, ast.Name)):
        return None
    if not (_START.fullmatch(start.id) and _END.fullmatch(length.id)):
        return None
    held = [frame.scope.bound.get(name.id, []) for name in (start, length)]
    if any(len(values) != 1 or not isinstance(values[0], Opaque) for values in held):
        return None
    first, second = held[0][0], held[1][0]
    if isinstance(first, Opaque) and isinstance(second, Opaque) and first.source is second.source:
        return f"{length.id} - {start.id}"
    return None


def _other_size(frame: Frame, node: ast.Call, start: ast.expr) -> tuple[ast.Subscript, str] | None:
    """`lo, hi = share(x.shape[0], rank, size)` before `x.narrow(dim, lo, hi - lo)`: the size that was given."""
    if not isinstance(start, ast.Name) or not isinstance(node.func, ast.Attribute):
        return None
    held = frame.scope.bound.get(start.id, [])
    source = held[0].source if len(held) == 1 and isinstance(held[0], Opaque) else None
    if not isinstance(source, ast.Call) or "rank" not in as_code(source):
        return None
    whole, dim = as_code(node.func.value), as_code(node.args[0])
    sizes = [
        arg
        for arg in source.args
        if isinstance(arg, ast.Subscript) and as_code(arg.value) == f"{whole}.shape"
    ]
    if (
        len(sizes) == 1
        and as_code(sizes[0].slice) != dim
        and isinstance(sizes[0].slice, ast.Constant | ast.Name)
    ):
        return sizes[0], dim
    return None


def _one(frame: Frame, node: ast.expr) -> Definition | None:
    """The one expression that a name or attribute is given, or what is written here."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return node, frame
    found = frame.definitions(node)
    return found[0] if len(found) == 1 else None


def _is_rank(node: ast.expr, frame: Frame) -> bool:
    given = _one(frame, node)
    if given is None or not isinstance(given[0], ast.Call):
        return False
    return bool(rank_function(given[0], given[1])) or given[1].called(given[0].func) in (
        "get_rank",
        "get_group_rank",
    )
