"""Reading one file: bytes to text to syntax tree, with a clear reason when that is not possible."""

from __future__ import annotations

import ast
import codecs
import errno
import io
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..finding import Place
from ..language import tr
from . import disk
from .nesting import LIMIT, is_too_deep
from .trees import compact

_COOKIE = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*[-\w.]+")


class Unusable(Exception):
    """A file that cannot be analysed; the text says why."""


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One file that can be parsed. `text` has `\\n` line ends whatever the file has, so that lines are the parser's.

    `display` is how messages name the file: relative to the working folder when inside it, with forward slashes.
    """

    path: Path
    display: str
    text: str
    parsed: ast.Module | None = None

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; parsed here where nobody needed it so far."""
        return self.parsed if self.parsed is not None else _tree(self.text, self.display)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def column(self, line: int, offset: int) -> int:
        """The column in characters of a byte offset of the parser."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def place(
        self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler
    ) -> Place:
        """The span of a node."""
        end_line = node.end_lineno or node.lineno
        end = node.col_offset if node.end_col_offset is None else node.end_col_offset
        return Place(
            self.display,
            node.lineno,
            self.column(node.lineno, node.col_offset),
            end_line,
            self.column(end_line, end),
        )


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file that may hold Python source.

    Raises:
        Unusable: it cannot be read, is larger than `disk.MAX_BYTES`, or is binary.
    """
    try:
        data = disk.read(path)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise Unusable(tr("larger than %(size)s MB", size=disk.MAX_BYTES // 2**20)) from None
        raise Unusable(why_unreadable(error)) from None
    return checked(data)


def checked(data: bytes) -> bytes:
    """The bytes, if they can be text.

    Raises:
        Unusable: they are binary.
    """
    if b"\0" in data:
        raise Unusable(tr("not UTF-8: NUL bytes, so not Python source; save it as UTF-8"))
    return data


def why_unreadable(error: OSError) -> str:
    """One line for an error of the operating system."""
    if error.errno == errno.ELOOP:
        return tr("symbolic link loop")
    return tr("unreadable: %(reason)s", reason=(error.strerror or str(error)).lower())


def encoding_of(data: bytes) -> str:
    """The encoding of source by byte-order mark, coding cookie (PEP 263) or UTF-8.

    Raises:
        Unusable: there is no such encoding.
    """
    if data.startswith(codecs.BOM_UTF8) or _COOKIE.match(data):
        try:
            return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        except (SyntaxError, ValueError) as error:
            raise Unusable(tr("unknown source encoding: %(error)s", error=error)) from None
    return "utf-8"


def decode(data: bytes) -> str:
    """Source text with `\\n` line ends.

    Raises:
        Unusable: the bytes are not text in their encoding, or the encoding is unknown.
    """
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except (ValueError, LookupError) as error:
        at = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise Unusable(
            tr("not %(encoding)s: line %(at)s; save it as UTF-8", encoding=encoding.upper(), at=at)
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def without_cookie(text: str) -> bytes:
    """The text as UTF-8, of the same lines and columns, with no comment that says otherwise."""
    data = text.encode(errors="replace")
    found = _COOKIE.match(data)
    return data if found is None else found[0].replace(b"coding", b"CODING") + data[found.end() :]


def parse(path: Path, display: str, data: bytes) -> SourceFile:
    """The parsed file.

    Raises:
        Unusable: it is not text, not Python, or nested too deeply.
    """
    text = decode(data)
    try:
        tree = _tree(text, display)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        raise Unusable(
            tr(
                "syntax error at line %(line)s (read as %(version)s): %(msg)s",
                line=error.lineno or 1,
                version=version,
                msg=error.msg,
            )
        ) from None
    except (RecursionError, MemoryError):
        raise Unusable(tr("nested too deeply to parse")) from None
    except (ValueError, OverflowError) as error:
        raise Unusable(tr("not Python source: %(error)s", error=error)) from None
    if compact(tree) > LIMIT and is_too_deep(tree):
        raise Unusable(tr("nested deeper than %(limit)s levels", limit=LIMIT))
    return SourceFile(path, display, text, tree)


def _tree(text: str, display: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as an invalid escape in a string: not ours to report
        return ast.parse(text, display)
