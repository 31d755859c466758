"""Typed repairs: the edits of a finding, from nodes of a file."""

from __future__ import annotations

import ast
import re

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Edit, Fix, Place
from .verdicts import place_of


def safe(*edits: Edit | None) -> Fix | None:
    """A repair that keeps the meaning of right code; None where one of its edits cannot be typed."""
    return _fix("safe", edits)


def unsafe(*edits: Edit | None) -> Fix | None:
    """A repair that needs a reader."""
    return _fix("unsafe", edits)


def _fix(applicability: str, edits: tuple[Edit | None, ...]) -> Fix | None:
    known = tuple(edit for edit in edits if edit is not None)
    return Fix(applicability, known) if known and len(known) == len(edits) else None


def either(is_safe: bool, *edits: Edit | None) -> Fix | None:
    """A repair that is safe in this place, or one that needs a reader."""
    return _fix("safe" if is_safe else "unsafe", edits)


def replace(module: ModuleFacts, node: ast.AST, text: str) -> Edit:
    """Another text in place of a node."""
    return Edit(place_of(module, node), text)


def insert_after(module: ModuleFacts, node: ast.AST, text: str) -> Edit:
    """A text right behind a node."""
    place = place_of(module, node)
    return Edit(Place(place.path, place.end_line, place.end_column, place.end_line, place.end_column), text)


def insert_before(module: ModuleFacts, node: ast.AST, text: str) -> Edit:
    """A text right in front of a node."""
    place = place_of(module, node)
    return Edit(Place(place.path, place.line, place.column, place.line, place.column), text)


def statement_of(module: ModuleFacts, node: ast.AST) -> ast.stmt | None:
    """The innermost statement that holds a node."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    around = [
        part
        for part in walk(module.tree)
        if isinstance(part, ast.stmt)
        and (part.lineno, part.col_offset) <= (line, column)
        and line <= (part.end_lineno or part.lineno)
    ]
    return max(around, key=lambda part: (part.lineno, part.col_offset), default=None)


def lines_before(module: ModuleFacts, node: ast.AST, *lines: str) -> Edit | None:
    """New lines in front of the statement that holds a node; None where it shares its line, or its head is open."""
    statement = statement_of(module, node)
    if statement is None or not _stands_alone(module, statement):
        return None
    indent = _indent(module, statement)
    at = Place(module.display, statement.lineno, 0, statement.lineno, 0)
    return Edit(at, "".join(f"{indent}{line}\n" for line in lines))


def lines_after(module: ModuleFacts, node: ast.AST, *lines: str) -> Edit | None:
    """New lines behind the simple statement that holds a node; None where it shares its lines."""
    statement = statement_of(module, node)
    return lines_below(module, statement, *lines) if statement is not None else None


def lines_below(module: ModuleFacts, statement: ast.stmt, *lines: str) -> Edit | None:
    """New lines behind a whole statement, indented as it is; None where it shares its lines."""
    if not _stands_alone(module, statement) or _text_behind(module, statement):
        return None
    number = statement.end_lineno or statement.lineno
    end, indent = len(module.lines[number - 1]), _indent(module, statement)
    at = Place(module.display, number, end, number, end)
    return Edit(at, "".join(f"\n{indent}{line}" if line else "\n" for line in lines))


def remove_keyword(module: ModuleFacts, call: ast.Call, name: str) -> Edit | None:
    """One keyword and its comma taken out of a call that has other arguments; None where brackets stand between."""
    parts: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    given = sorted(parts, key=lambda part: (part.lineno, part.col_offset))
    at = next((index for index, part in enumerate(given) if getattr(part, "arg", None) == name), None)
    if at is None or len(given) < 2:
        return None
    own = place_of(module, given[at])
    if at + 1 < len(given):
        after = place_of(module, given[at + 1])
        return Edit(Place(own.path, own.line, own.column, after.line, after.column), "")
    before = place_of(module, given[at - 1])
    between = module.lines[before.end_line - 1][before.end_column :][:1]
    if between != ",":
        return None
    return Edit(Place(own.path, before.end_line, before.end_column, own.end_line, own.end_column), "")


def rename_keyword(module: ModuleFacts, call: ast.Call, name: str, new: str) -> Edit | None:
    """Another name for one keyword of a call."""
    for keyword in call.keywords:
        if keyword.arg == name:
            own = place_of(module, keyword)
            return Edit(Place(own.path, own.line, own.column, own.line, own.column + len(name)), new)
    return None


def remove_statement(module: ModuleFacts, statement: ast.stmt) -> Edit | None:
    """The statement and its lines taken out; None where others share them."""
    end = statement.end_lineno or statement.lineno
    if not _stands_alone(module, statement) or _text_behind(module, statement) or end >= len(module.lines):
        return None
    return Edit(Place(module.display, statement.lineno, 0, end + 1, 0), "")


def add_keyword(module: ModuleFacts, call: ast.Call, text: str) -> Edit | None:
    """`name=value` behind the last argument of a call, in front of `**kwargs`; None behind a bare generator."""
    spread = [keyword for keyword in call.keywords if keyword.arg is None]
    if spread:
        return insert_before(module, spread[0], f"{text}, ")
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    end = place_of(module, call)
    if not given:
        return Edit(Place(end.path, end.end_line, end.end_column - 1, end.end_line, end.end_column - 1), text)
    last = max(given, key=lambda value: (value.end_lineno or 0, value.end_col_offset or 0))
    if isinstance(last, ast.GeneratorExp):
        return None
    line, column = _behind_brackets(module, place_of(module, last), end)
    part = next((keyword for keyword in call.keywords if keyword.value is last), last)
    return _one_more(module, part, line, column, text)


def _one_more(module: ModuleFacts, last: ast.AST, line: int, column: int, text: str) -> Edit:
    """An item behind the last one of a list, which ends at a column; on a line of its own where that one has one."""
    place, source = place_of(module, last), module.lines[line - 1]
    indent, rest = module.lines[place.line - 1][: place.column], source[column:].strip()
    at = Place(place.path, line, column, line, column)
    if indent.strip() or (rest and rest[0] not in ",#") or rest.lstrip(", ")[:1] not in ("", "#"):
        return Edit(at, f", {text}")
    end = Place(place.path, line, len(source), line, len(source))
    if rest.startswith(","):
        return Edit(end, f"\n{indent}{text},")
    if rest:
        return Edit(Place(place.path, line, column, line, len(source)), f",{source[column:]}\n{indent}{text}")
    return Edit(at, f",\n{indent}{text}")


def _behind_brackets(module: ModuleFacts, inner: Place, outer: Place) -> tuple[int, int]:
    """Where an argument ends, the brackets around it counted in."""
    found = (inner.end_line, inner.end_column)
    for number in range(inner.end_line, outer.end_line + 1):
        start = inner.end_column if number == inner.end_line else 0
        stop = outer.end_column - 1 if number == outer.end_line else None
        text = module.lines[number - 1][start:stop].split("#")[0]
        if ")" in text:
            found = (number, start + text.rindex(")") + 1)
    return found


def set_keyword(module: ModuleFacts, call: ast.AST, name: str, text: str) -> Edit | None:
    """`name=text` in a call: in place of the value that is written there, else as one more keyword."""
    if not isinstance(call, ast.Call):
        return None
    written = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if written is not None:
        return replace(module, written, text)
    return add_keyword(module, call, f"{name}={text}")


def add_parameter(module: ModuleFacts, function: ast.FunctionDef, text: str) -> Edit | None:
    """A parameter behind the last one; None where a `**kwargs` stands there already, or nothing at all."""
    spec = function.args
    if spec.kwarg is not None or spec.posonlyargs:
        return None
    parameters: list[ast.arg | ast.expr] = [*spec.args, *spec.kwonlyargs]
    parameters += [spec.vararg] if spec.vararg else []
    if not parameters:
        return None
    defaults = [default for default in (*spec.defaults, *spec.kw_defaults) if default is not None]
    last: ast.arg | ast.expr = max((*parameters, *defaults), key=_position)
    place = place_of(module, last)
    behind = module.lines[place.end_line - 1][place.end_column :].lstrip()
    if behind.startswith(")") and isinstance(last, ast.Tuple):
        return None
    return _one_more(module, max(parameters, key=_position), place.end_line, place.end_column, text)


def _position(node: ast.arg | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def add_import(module: ModuleFacts, source: str, name: str) -> tuple[Edit, ...]:
    """`from source import name` behind the imports of a file; nothing where the name is bound already."""
    if name in module.bindings:
        return ()
    line = f"from {source} import {name}"
    imports = [part for part in module.tree.body if isinstance(part, ast.Import | ast.ImportFrom)]
    if imports:
        edit = lines_after(module, imports[-1], line)
        return (edit,) if edit is not None else ()
    first = module.tree.body[0]
    edit = lines_before(module, first, line)
    return (edit,) if edit is not None else ()


def framework_of(module: ModuleFacts) -> str:
    """The package that a file takes Megatron from: `megatron`, or the fork that it imports."""
    sources = [module.absolute(edge.module) for edge in module.edges]
    found = [match[1] for source in sources if (match := re.match(r"((?:\w+\.)*megatron)(?:\.|$)", source))]
    return found[0] if found else "megatron"


def _indent(module: ModuleFacts, node: ast.AST) -> str:
    line = module.lines[node.lineno - 1]  # type: ignore[attr-defined]
    return line[: len(line) - len(line.lstrip())]


def _stands_alone(module: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether nothing but white space stands in front of a statement on its line."""
    line = module.lines[statement.lineno - 1]
    return not line[: place_of(module, statement).column].strip()


def _text_behind(module: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether another statement follows on the last line, or the line goes on."""
    place = place_of(module, statement)
    behind = module.lines[place.end_line - 1][place.end_column :].strip()
    return bool(behind) and not behind.startswith("#")
