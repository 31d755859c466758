"""E7624"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Edit, Finding
from ..language import tr
from ..project.project import dotted_name
from ..project.scopes import lines_with, nodes_near
from ..rule import Rule, Symptom
from ..tpstate.fixes import add_keyword, replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_BLOCKED = re.compile(r"block|forbid|invisible|hidden_pairs|masked_pairs")


class OwnTokenMasked(Rule):
    """An attention mask hides each token from itself."""

    code, symbol = "E7624", "own-token-masked"
    message = "`%(mask)s` hides each token from itself: %(problem)s"
    advice = "Write `%(typed)s`."
    why = (
        "A token always sees itself. With the diagonal hidden too the first row of a causal mask is hidden whole, and "
        "its softmax is not a number; a mask of windows that hides equal regions leaves what it should have hidden."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "NaN from the first row on, or attention over the wrong tokens"
    limits = "Where the mask is made in the same function, or returned by a function whose name says what it blocks."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Whether the mask says what is hidden or what is seen is judged by its use here."

    bad = """
    # one rank of tensor_parallel layers
    import torch


    def weights(scores):
        n = scores.shape[-1]
        future = torch.ones(n, n, dtype=torch.bool).triu()
        return scores.masked_fill(future, float("-inf")).softmax(dim=-1)  # [own-token-masked]
    """
    good = bad.replace(".triu()", ".triu(diagonal=1)").replace("  # [own-token-masked]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            lines = lines_with(module.text, "masked_fill")
            functions: list[ast.FunctionDef] = []
            for node in nodes_near(module.tree, lines) if lines else ():
                if isinstance(node, ast.FunctionDef):
                    functions.append(node)
                elif isinstance(node, ast.Call) and (mask := _hiding(node)) is not None:
                    inside = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
                    if inside:
                        yield from self._of(module, inside[-1], node, mask)
            for cls in module.classes.values():
                for method in cls.methods.values():
                    yield from self._returned(module, method)

    def _of(
        self, module: ModuleFacts, function: ast.FunctionDef, node: ast.Call, mask: ast.expr
    ) -> Iterator[Finding]:
        made = _made(function, mask)
        diagonal = _upper(made)
        if diagonal is not None and diagonal <= 0:
            problem = tr("the triangle holds its diagonal")
            triangle = _triangle(made)
            yield self._finding(
                module, function, node, mask, problem, "triu(diagonal=1)", _edit(module, triangle)
            )
        elif (
            isinstance(made, ast.Compare)
            and isinstance(made.ops[0], ast.Eq)
            and _equal_regions(function, made)
        ):
            typed = as_code(made).replace("==", "!=")
            problem = tr("it is true where both lie in one region")
            yield self._finding(module, function, node, mask, problem, typed, replace(module, made, typed))

    def _returned(self, module: ModuleFacts, function: ast.FunctionDef) -> Iterator[Finding]:
        if not _BLOCKED.search(function.name):
            return
        for node in walk(function):
            made = node.value if isinstance(node, ast.Return) else None
            if isinstance(made, ast.Compare) and isinstance(made.ops[0], ast.Eq) and _outer(made):
                problem = tr("`%(name)s` is true where both lie in one region", name=function.name)
                typed = as_code(made).replace("==", "!=")
                yield self._finding(
                    module, function, made, made, problem, typed, replace(module, made, typed)
                )

    def _finding(
        self,
        module: ModuleFacts,
        function: ast.FunctionDef,
        node: ast.expr,
        mask: ast.expr,
        problem: str,
        typed: str,
        edit: Edit | None,
    ) -> Finding:
        return self.finding(
            place_of(module, node),
            object=function.name,
            fix=unsafe(edit),
            mask=as_code(mask),
            problem=problem,
            typed=typed,
        )


def _edit(module: ModuleFacts, call: ast.Call | None) -> Edit | None:
    """The diagonal above the main one."""
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    given = [*call.args[1:]] if dotted_name(call.func) == "torch.triu" else [*call.args]
    given += [keyword.value for keyword in call.keywords if keyword.arg == "diagonal"]
    if given:
        return replace(module, given[0], "1")
    return add_keyword(module, call, "diagonal=1")


def _hiding(node: ast.Call) -> ast.expr | None:
    """The mask of a `masked_fill` with minus infinity, or a number that stands for it."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("masked_fill", "masked_fill_"):
        return None
    if len(node.args) != 2:
        return None
    text = as_code(node.args[1])
    lowest = "-inf" in text or text == "-torch.inf" or text.endswith(".min")
    number = re.fullmatch(r"-(?:\(?float\()?(\d[\d.e+]*)\)*", text)
    return node.args[0] if lowest or (number is not None and float(number[1]) >= 100) else None


def _made(function: ast.FunctionDef, mask: ast.expr) -> ast.expr | None:
    """What a mask is: the one expression that its name is given, or itself."""
    if isinstance(mask, ast.Subscript):
        return _made(function, mask.value)
    if not isinstance(mask, ast.Name):
        return mask
    given = [
        node
        for node in walk(function)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and any(
            isinstance(part, ast.Name) and part.id == mask.id and isinstance(part.ctx, ast.Store)
            for part in walk(node)
        )
    ]
    only = given[0] if len(given) == 1 else None
    if isinstance(only, ast.Assign) and isinstance(only.targets[0], ast.Name):
        return only.value
    return None


def _triangle(node: ast.expr | None) -> ast.Call | None:
    """The `triu` that a mask is, casts left out."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in ("bool", "to", "type_as"):
        return _triangle(node.func.value)
    return node if node.func.attr == "triu" else None


def _upper(node: ast.expr | None) -> int | None:
    """The diagonal of `torch.ones(...).triu(d)` or `torch.triu(torch.ones(...), d)`; None for anything else."""
    call = _triangle(node)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    is_function = dotted_name(call.func) == "torch.triu"
    source = call.args[0] if is_function and call.args else call.func.value
    rest = call.args[1:] if is_function else call.args
    if not isinstance(source, ast.Call) or dotted_name(source.func) != "torch.ones":
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "diagonal"), None)
    given = given or (rest[0] if rest else ast.Constant(0))
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None


def _equal_regions(function: ast.FunctionDef, compared: ast.Compare) -> bool:
    """`a[:, :, None] == a[:, None, :]`, or a difference of regions that is compared with 0."""
    if _outer(compared):
        return True
    right = compared.comparators[0]
    if not (isinstance(right, ast.Constant) and right.value == 0):
        return False
    made = _made(function, compared.left)
    if not (isinstance(made, ast.BinOp) and isinstance(made.op, ast.Sub)):
        return False
    sides = [_spread(side) for side in (made.left, made.right)]
    return None not in sides and sides[0] == sides[1]


def _outer(compared: ast.Compare) -> bool:
    sides = [_spread(side) for side in (compared.left, compared.comparators[0])]
    return (
        None not in sides
        and sides[0] == sides[1]
        and as_code(compared.left) != as_code(compared.comparators[0])
    )


def _spread(node: ast.expr) -> str | None:
    """The name of what gets one more axis: `a[:, None, :]`, `a.unsqueeze(1)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unsqueeze":
        return dotted_name(node.func.value)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        if any(isinstance(part, ast.Constant) and part.value is None for part in node.slice.elts):
            return dotted_name(node.value)
    return None
