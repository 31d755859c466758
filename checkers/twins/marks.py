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
    """One comment. `covered` are the lines of the statement that it stands in, behind or above."""

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
    """The innermost statement around a comment; below it, where it stands on a line of its own."""
    around = [_lines(node) for node in statements if line in _lines(node)]
    if around and not stands_alone:
        return min(around, key=len)
    simple = [lines for lines in around if len(lines) < 60]
    below = [_lines(node) for node in statements if node.lineno > line]
    first = min((lines.start for lines in below), default=line)
    following = min(
        (lines for lines in below if lines.start == first), key=len, default=range(line, line + 1)
    )
    inner = min(simple, key=len, default=None)
    return following if inner is None or following.stop <= inner.stop else inner


def _lines(node: ast.stmt) -> range:
    """The lines of a statement; of a compound one its head alone."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return range(node.lineno, max(body[0].lineno, node.lineno + 1))
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def covering(found: list[Mark], spot: Spot) -> Mark | None:
    """The mark that covers a place."""
    return next((mark for mark in found if spot.line in mark.covered), None)
