"""Edits onto the bytes of a file: its line ends, its encoding and its comments stay as they are."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from ..files.source import Unusable, encoding_of
from ..finding import Edit
from ..language import tr

_LINE_END = re.compile(r"\r\n|\r|\n")
_Point = tuple[int, int]


class Unfit(Exception):
    """Edits that cannot be made in this file; the text says why."""


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a file with edits that do not overlap; those at one point are made in the order given.

    Raises:
        Unfit: a comment would be lost, or the file cannot be written back as it was.
    """
    try:
        encoding = encoding_of(data)
        text = data.decode(encoding)
    except (Unusable, ValueError, LookupError) as error:
        raise Unfit(error.args[0] if isinstance(error, Unusable) else str(error)) from None
    if text.encode(encoding) != data:
        raise Unfit(tr("its %(encoding)s bytes cannot be written back as they were", encoding=encoding))
    ends = list(_LINE_END.finditer(text))
    starts = [0, *(end.end() for end in ends)]
    ordered = sorted(edits, key=lambda edit: (edit.place.line, edit.place.column))
    _keep_comments(text, ordered)
    parts, done = [], 0
    for edit in ordered:
        place = edit.place
        start = starts[place.line - 1] + place.column
        parts += [text[done:start], _with_line_ends(edit.text, ends, place.line)]
        done = starts[place.end_line - 1] + place.end_column
    try:
        return "".join((*parts, text[done:])).encode(encoding)
    except UnicodeError:
        raise Unfit(tr("the edit has characters that %(encoding)s has not", encoding=encoding)) from None


def _with_line_ends(text: str, ends: list[re.Match[str]], line: int) -> str:
    """New lines end as the line does where they are put; the last line of a file as the one before it."""
    if not ends or "\n" not in text:
        return text
    return text.replace("\n", ends[min(line, len(ends)) - 1][0])


def _keep_comments(text: str, edits: list[Edit]) -> None:
    """A comment goes with the code that it stands behind, and only where that is taken out."""
    spans = [edit for edit in edits if (edit.place.line, edit.place.column) != _end(edit)]
    if not spans or "#" not in text:
        return
    lines = _LINE_END.sub("\n", text)
    try:
        tokens = [
            t for t in tokenize.generate_tokens(io.StringIO(lines).readline) if t.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, SyntaxError):
        raise Unfit(tr("its comments cannot be told from its code")) from None
    for token in tokens:
        for edit in spans:
            if (edit.place.line, edit.place.column) <= token.start < _end(edit):
                stands_behind = bool(token.line[: token.start[1]].strip())
                if token.string not in edit.text and (edit.text or not stands_behind):
                    raise Unfit(tr("the comment of line %(line)s would be lost", line=token.start[0]))


def _end(edit: Edit) -> _Point:
    return edit.place.end_line, edit.place.end_column


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch, so that the result would depend on which of them is made first."""
    mine, theirs = one.place, other.place
    return (
        mine.path == theirs.path
        and (mine.line, mine.column) <= _end(other)
        and (theirs.line, theirs.column) <= _end(one)
    )


def line_after(edits: Iterable[Edit], line: int, column: int) -> int:
    """The line on which a point of the old text stands in the new one."""
    moved = line
    for edit in edits:
        place, inserted = edit.place, edit.text.count("\n")
        if _end(edit) <= (line, column):
            moved += inserted - (place.end_line - place.line)
        elif (place.line, place.column) < (line, column):  # inside what is replaced: its beginning is left
            moved += place.line - line
    return moved
