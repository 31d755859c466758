"""How deeply a syntax tree is nested, measured without recursion.

Every later step walks trees by recursion. A file nested deeper than `LIMIT` is skipped here, so that none of them
can run out of stack.
"""

from __future__ import annotations

import ast

LIMIT = 200
# One level of nesting takes at least one character, so an expression shorter than this adds fewer levels than that
# and is not walked: walking every node would take as long as parsing.
_SHORT = LIMIT // 2
_HOLDERS = (
    ast.stmt,
    ast.excepthandler,
    ast.match_case,
    ast.pattern,
    ast.comprehension,
    ast.keyword,
    ast.arguments,
    ast.withitem,
)


def is_too_deep(tree: ast.Module) -> bool:
    """Whether `tree` is nested deeper than `LIMIT` levels, give or take the levels inside one short expression."""
    todo: list[tuple[ast.AST, int]] = [(statement, 1) for statement in tree.body]
    while todo:
        node, depth = todo.pop()
        if depth > LIMIT:
            return True
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                if value and isinstance(value[0], ast.AST):
                    todo += [(item, depth + 1) for item in value if not _is_short(item)]
            elif isinstance(value, ast.AST) and not _is_short(value):
                todo.append((value, depth + 1))
    return False


def _is_short(node: ast.AST) -> bool:
    if isinstance(node, ast.expr):
        lines = (node.end_lineno or node.lineno) - node.lineno
        return lines == 0 and (node.end_col_offset or 0) - node.col_offset < _SHORT
    return not isinstance(node, _HOLDERS)
