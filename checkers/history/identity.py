"""How a finding is known again in another version of its file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from ..files.source import SourceFile
from ..finding import Finding

_LAYOUT = re.compile(r"\s*([^\w\s])\s*|(?<=\s)\s+")


@dataclass(frozen=True, order=True)
class Identity:
    """File, rule, the function or class around, and the line without its layout; never the number of the line."""

    path: str
    symbol: str
    inside: str
    text: str


def identity(finding: Finding, source: SourceFile | None, path: str) -> Identity:
    """The identity of a finding in a file that is called `path` where identities are compared."""
    line = finding.place.line
    inside, text = "", ""
    if source is not None and line <= len(source.lines):
        inside, text = qualified_name(source.tree, line), _LAYOUT.sub(r"\1", source.lines[line - 1].strip())
    return Identity(path, finding.symbol, inside, text)


def identities(
    findings: list[Finding], source: Callable[[str], SourceFile | None], named: Callable[[str], str]
) -> list[Identity]:
    """The identities of findings, in their order; `source` gives a file by its path, `named` its name for them."""
    return [identity(f, source(f.place.path), named(f.place.path)) for f in findings]


def qualified_name(tree: ast.Module, line: int) -> str:
    """The classes and functions around a line, outermost first, with dots between them; empty at the top."""
    names: list[str] = []
    body: list[ast.AST] = [tree]
    while body:
        node = body.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case) or not _spans(
                child, line
            ):
                continue
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.append(child.name)
            body.append(child)
    return ".".join(names)


def _spans(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_spans(part, line) for part in node.body)
    decorators = getattr(node, "decorator_list", [])
    first = min([part.lineno for part in decorators], default=getattr(node, "lineno", 0))
    return first <= line <= (getattr(node, "end_lineno", 0) or 0)
