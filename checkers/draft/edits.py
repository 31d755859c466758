"""Changes to the text of one file, by the nodes of its syntax tree; everything between them stays as it is."""

from __future__ import annotations

import ast
import builtins

TODO = "TODO(onescience-check)"


class Edits:
    """Insertions and replacements in a text, each at a place of its tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._made: dict[tuple[int, int], str] = {}

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree (columns are UTF-8 bytes) lies in the text."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.stmt | ast.expr | ast.arg) -> tuple[int, int]:
        """Where a node begins and ends."""
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.offset(node.lineno, node.col_offset), end

    def source(self, node: ast.stmt | ast.expr) -> str:
        """The text of a node as it was."""
        start, end = self.span(node)
        return self.text[start:end]

    def put(self, start: int, end: int, text: str) -> None:
        """Write another text in place of a stretch."""
        self._made[start, end] = text

    def replace(self, node: ast.stmt | ast.expr, text: str) -> None:
        """Write another text in place of a node."""
        self.put(*self.span(node), text)

    def indent(self, node: ast.stmt | ast.expr) -> str:
        """The blanks in front of the line where a node begins."""
        line = self._lines[node.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def insert(self, offset: int, text: str) -> None:
        """Write a text at a place; several at one place stand in the order given."""
        self._made[offset, offset] = self._made.get((offset, offset), "") + text

    def mark(self, node: ast.stmt | ast.expr, text: str, switched_off: str = "") -> None:
        """A line above the one where a node begins: what is left to do there."""
        start, indent = self._starts[node.lineno - 1], self.indent(node)
        off = f"{indent}# pylint: disable-next={switched_off}\n" if switched_off else ""
        self.insert(start, f"{indent}# {TODO}: {text}\n{off}")

    def rendered(self, start: int, end: int) -> str:
        """A stretch of the text with the changes inside it."""
        parts, done = [], start
        for (first, last), text in sorted(self._made.items()):
            if start <= first and last <= end and first >= done:
                parts += [self.text[done:first], text]
                done = last
        return "".join((*parts, self.text[done:end]))

    def lines_of(self, node: ast.stmt) -> str:
        """The whole lines of a statement, decorators included, with the changes inside them."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or node.lineno
        end = self._starts[last]
        text = self.rendered(self._starts[first - 1], end)
        return text if text.endswith("\n") else text + "\n"


def add_argument(edits: Edits, call: ast.Call, text: str) -> None:
    """Write one more keyword argument into a call, behind its last one."""
    last = max(
        (*call.args, *(word.value for word in call.keywords)),
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
        default=None,
    )
    if last is None:
        edits.insert(edits.span(call)[1] - 1, text)
        return
    given = [*call.args, *(word.value for word in call.keywords)]
    is_alone = last.lineno > call.lineno and len({part.lineno for part in given}) == len(given)
    edits.insert(edits.span(last)[1], f",\n{edits.indent(last)}{text}" if is_alone else f", {text}")


def add_parameter(edits: Edits, function: ast.FunctionDef, name: str) -> None:
    """Write a parameter that must be given by keyword into a signature, in front of `**kwargs`."""
    spec = function.args
    ends = [edits.span(arg)[1] for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    ends += [edits.span(value)[1] for value in (*spec.defaults, *spec.kw_defaults) if value is not None]
    if spec.vararg is not None:
        ends.append(edits.span(spec.vararg)[1])
    star = "" if spec.kwonlyargs or spec.vararg is not None else "*, "
    edits.insert(max(ends), f", {star}{name}")


def load_names(node: ast.AST) -> set[str]:
    """The names that a piece of code reads; attributes of the instance as `self.name`."""
    return _names(node, ast.Load) - _EVERYWHERE


_EVERYWHERE = {"self", *dir(builtins)}


def store_names(node: ast.AST) -> set[str]:
    """The names that a piece of code sets; attributes of the instance as `self.name`."""
    found = _names(node, ast.Store)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        callee = node.value.func  # self.register_buffer("name", …)
        if isinstance(callee, ast.Attribute) and callee.attr in (
            "register_buffer",
            "register_parameter",
            "add_module",
        ):
            first = node.value.args[0] if node.value.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(f"self.{first.value}")
    return found


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names that a piece of code has in a context; attributes of the instance as `self.name`."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            if isinstance(part.ctx, context):
                found.add(f"self.{part.attr}")
        elif isinstance(part, ast.Name) and isinstance(part.ctx, context):
            found.add(part.id)
    return found
