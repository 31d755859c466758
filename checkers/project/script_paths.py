"""Paths that a script spells out: what `Path(__file__).parent / "conf" / "config.yaml"` means on disk."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from .project import dotted_name

Lookup = Callable[[str], ast.expr | None]
_HERE = frozenset({"os.getcwd", "Path.cwd", "pathlib.Path.cwd"})
_SAME = frozenset(
    "str os.fspath os.path.abspath os.path.realpath os.path.normpath os.path.expanduser Path pathlib.Path".split()
)
_MAX_STEPS = 12


def path_of(node: ast.expr, script: Path, lookup: Lookup, steps: int = 0) -> Path | None:
    """The file an expression names; None when it cannot be told.

    Relative paths and the working folder mean the folder of the script: that is where such scripts are started.
    `lookup` gives the one expression that a name of the script is bound to.
    """
    found = _evaluate(node, script, lookup, steps)
    return None if found is None else script.parent / found


def _evaluate(node: ast.expr, script: Path, lookup: Lookup, steps: int) -> Path | None:
    if steps > _MAX_STEPS:
        return None
    if isinstance(node, ast.Constant):
        return Path(node.value) if isinstance(node.value, str) and "$" not in node.value else None
    if isinstance(node, ast.Name):
        if node.id == "__file__":
            return script
        bound = lookup(node.id)
        return None if bound is None else _evaluate(bound, script, lookup, steps + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _joined([node.left, node.right], script, lookup, steps)
    if isinstance(node, ast.Attribute) and node.attr == "parent":
        inner = _evaluate(node.value, script, lookup, steps + 1)
        return None if inner is None else inner.parent
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "parents"
    ):
        inner = _evaluate(node.value.value, script, lookup, steps + 1)
        level = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_level = inner is not None and isinstance(level, int) and 0 <= level < len(inner.parents)
        return inner.parents[level] if inner is not None and is_level and isinstance(level, int) else None
    if isinstance(node, ast.Attribute):
        bound = lookup(dotted_name(node) or "")
        return None if bound is None else _evaluate(bound, script, lookup, steps + 1)
    return _call(node, script, lookup, steps) if isinstance(node, ast.Call) else None


def _call(node: ast.Call, script: Path, lookup: Lookup, steps: int) -> Path | None:
    name = dotted_name(node.func) or ""
    if name in _HERE:
        return script.parent
    if name in _SAME and len(node.args) == 1:
        return _evaluate(node.args[0], script, lookup, steps + 1)
    if name in ("os.path.join", "Path", "pathlib.Path") and node.args:
        return _joined(node.args, script, lookup, steps)
    if name == "os.path.dirname" and node.args:
        inner = _evaluate(node.args[0], script, lookup, steps + 1)
        return None if inner is None else inner.parent
    if isinstance(node.func, ast.Attribute):
        inner_node = node.func.value
        if node.func.attr in ("resolve", "absolute", "expanduser", "as_posix"):
            return _evaluate(inner_node, script, lookup, steps + 1)
        if node.func.attr == "joinpath":
            return _joined([inner_node, *node.args], script, lookup, steps)
    return None


def _joined(parts: list[ast.expr], script: Path, lookup: Lookup, steps: int) -> Path | None:
    found = [_evaluate(part, script, lookup, steps + 1) for part in parts]
    known = [part for part in found if part is not None]
    return Path(*known) if len(known) == len(found) else None
