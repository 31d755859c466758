"""Frames of a log, found again in the files of this project, which may have changed or moved since."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..files.source import Unusable, decode, read_bytes
from .record import Failure, Frame

_MOST_FILES = 60_000
_LEFT_OUT = {".git", "__pycache__", "node_modules", ".venv", "venv", "site-packages", ".tox", ".eggs"}
_INSTALLED = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_STANDARD = re.compile(r".*[/\\]lib[/\\]python3(?:\.\d+)?[/\\]|^<")
_STATEMENT = (ast.stmt, ast.ExceptHandler)


@dataclass(eq=False)
class SourceText:
    """One file of the project."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def tree(self) -> ast.Module | None:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree)) if self.tree is not None else []

    def statement(self, line: int) -> tuple[int, int]:
        """First and last line of the smallest simple statement, or head of a compound one, at a line."""
        best = (line, line)
        size = 10**9
        for node in self.nodes:
            if isinstance(node, _STATEMENT) and node.lineno <= line <= (node.end_lineno or node.lineno):
                body = getattr(node, "body", None)
                end = (
                    body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
                )
                start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                if start <= line <= max(end, node.lineno) and end - start < size:
                    best, size = (start, max(end, node.lineno)), end - start
        return best

    def enclosing(self, line: int) -> list[ast.ClassDef | ast.FunctionDef]:
        """Classes and functions around a line, outermost first."""
        found = [
            node
            for node in self.nodes
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return sorted(found, key=lambda node: node.lineno)


@dataclass(frozen=True)
class Spot:
    """A frame of the log in this project. `line` is where the code stands now; `same` is False where the text at
    the place has changed and the code was not found again."""

    frame: Frame
    source: SourceText
    line: int
    same: bool
    last: bool = False  # the frame that raised

    @property
    def passes_on(self) -> bool:
        """Whether the line only hands its own arguments on: it is on the way, not at fault."""
        if self.last:
            return False
        code = self.frame.code or self.code
        return bool(
            re.search(r"\*\*(?:kwargs|kw|arguments|options)\b|\(\*(?:args|inputs)\b", code)
        ) and not re.search(r"\w+\s*=\s*[\w\"']", code.partition("(")[2])

    @property
    def code(self) -> str:
        lines = self.source.lines
        return lines[self.line - 1].strip() if 0 < self.line <= len(lines) else ""


@dataclass
class Sources:
    """The Python files below the given paths, read on demand."""

    paths: Sequence[Path]
    _by_name: dict[str, list[str]] = field(default_factory=dict)
    _texts: dict[str, SourceText | None] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)  # YAML files

    def __post_init__(self) -> None:
        count = 0
        for path in self.paths:
            for found in _walk(path):
                count += 1
                if count > _MOST_FILES:
                    return
                name = os.path.basename(found)
                if name.endswith(".py"):
                    self._by_name.setdefault(name, []).append(found)
                else:
                    self.extra.append(found)

    @property
    def files(self) -> Iterator[str]:
        for names in self._by_name.values():
            yield from names

    def having(self, word: str) -> Iterator[SourceText]:
        """The files that hold a word and can be parsed."""
        for path in self.files:
            source = self.text(path)
            if source is not None and word in source.text and source.tree is not None:
                yield source

    def text(self, path: str) -> SourceText | None:
        """The text of a file; None where it cannot be read."""
        if path not in self._texts:
            try:
                made: SourceText | None = SourceText(path, decode(read_bytes(path)))
            except Unusable:
                made = None
            self._texts[path] = made
        return self._texts[path]

    def find(self, path: str) -> str | None:
        """The file of this project that a path in a log means: by the longest common end."""
        if _STANDARD.match(path) and not _INSTALLED.match(path):
            return None
        installed = _INSTALLED.match(path)
        parts = re.split(r"[/\\]+", path[installed.end() :] if installed else path)
        best, length, count = None, 0, 0
        for candidate in self._by_name.get(parts[-1], ()):
            own = re.split(r"[/\\]+", os.path.normpath(candidate))
            common = 0
            while common < min(len(own), len(parts)) and own[-1 - common] == parts[-1 - common]:
                common += 1
            if common > length:
                best, length, count = candidate, common, 1
            elif common == length:
                count += 1
        if installed and length < len(parts):
            return None
        needed = min(2, len([part for part in parts if part not in ("", ".")]))
        if count == 1 and (
            length >= needed or (len(self._by_name.get(parts[-1], ())) == 1 and not installed)
        ):
            return best
        return best if length >= 3 or (count == 1 and length >= needed) else None

    def spots(self, failure: Failure) -> list[Spot]:
        """The frames of a failure that lie in this project, outermost first."""
        found = []
        for frame in failure.frames:
            path = self.find(frame.path)
            source = self.text(path) if path else None
            if source is not None:
                spot = _spot(frame, source)
                found.append(replace(spot, last=frame is failure.frames[-1]))
        return found


def _spot(frame: Frame, source: SourceText) -> Spot:
    """The place now: where the code is as the log says, else where the same code stands, else the function."""
    lines = source.lines
    if not frame.code or (0 < frame.line <= len(lines) and lines[frame.line - 1].strip() == frame.code):
        return Spot(frame, source, frame.line, 0 < frame.line <= len(lines))
    again = [number for number, text in enumerate(lines, 1) if text.strip() == frame.code]
    if again:
        return Spot(frame, source, min(again, key=lambda number: abs(number - frame.line)), True)
    named = [
        n
        for n in source.nodes
        if isinstance(n, ast.FunctionDef) and n.name == frame.function.rsplit(".", 1)[-1]
    ]
    heads = [node.body[0].lineno for node in named] or [min(frame.line, len(lines))]
    return Spot(frame, source, min(heads, key=lambda number: abs(number - frame.line)), False)


def _walk(path: Path) -> Iterator[str]:
    if path.is_file():
        yield os.path.normpath(str(path))
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(names):
            if name.endswith((".py", ".yaml", ".yml")):
                yield os.path.normpath(os.path.join(folder, name))
