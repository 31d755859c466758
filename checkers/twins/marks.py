"""`# onescience: differs <reason>`: a difference from the original that the author means."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from .nodes import Spot

_MARK = re.compile(r"#\s*onescience:\s*differs\b\s*(?P<reason>[^#]*)")


@dataclass(frozen=True)
class Mark:
    """One comment. `covered` are the lines of the statement that it stands in, behind or above, or of its argument."""

    line: int
    column: int
    text: str
    reason: str
    covered: range


def marks(module: ModuleFacts) -> list[Mark]:
    """The marks of a file."""
    if "onescience:" not in module.text or not any(map(_MARK.search, module.lines)):
        return []
    statements = [node for node in ast.walk(module.tree) if isinstance(node, ast.stmt)]
    found = []
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        match = _MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            line, column = token.start
            stands_alone = not module.lines[line - 1][:column].strip()
            covered = _covered(statements, line, stands_alone)
            found.append(Mark(line, column, token.string, match["reason"].strip(), covered))
    return found


def _covered(statements: list[ast.stmt], line: int, stands_alone: bool) -> range:
    """The innermost statement around a comment, of a call over several lines the arguments of its line alone.

    Below it, where it stands on a line of its own.
    """
    around = [_lines(node) for node in statements if line in _lines(node)]
    if around and not stands_alone:
        own = min(around, key=len)
        return range(line, line + 1) if _is_of_arguments(statements, own, line) else own
    simple = [lines for lines in around if len(lines) < 60]
    below = [_lines(node) for node in statements if node.lineno > line]
    first = min((lines.start for lines in below), default=line)
    following = min(
        (lines for lines in below if lines.start == first), key=len, default=range(line, line + 1)
    )
    inner = min(simple, key=len, default=None)
    return following if inner is None or following.stop <= inner.stop else inner


def _is_of_arguments(statements: list[ast.stmt], statement: range, line: int) -> bool:
    """Whether a line of a statement holds arguments of a call from their beginning to their end, and nothing else."""
    for call in (part for node in statements if _lines(node) == statement for part in ast.walk(node)):
        if isinstance(call, ast.Call) and call.lineno < line < (call.end_lineno or 0):
            given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
            if any(arg.lineno == line == arg.end_lineno for arg in given):
                return True
    return False


def _lines(node: ast.stmt) -> range:
    """The lines of a statement; of a compound one its head alone."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return range(node.lineno, max(body[0].lineno, node.lineno + 1))
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def covering(found: list[Mark], spot: Spot) -> Mark | None:
    """The mark that covers a place."""
    return next((mark for mark in found if spot.line in mark.covered), None)
