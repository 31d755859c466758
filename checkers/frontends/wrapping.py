"""Text in lines: words stay whole, and Chinese may break between any two characters that typography lets part."""

from __future__ import annotations

import re

from rich.cells import cell_len

_UNITS = re.compile(
    r"\s+|[\u2e80-\u9fff\uff00-\uffef\u3000-\u303f“”‘’…—]|[^\s\u2e80-\u9fff\uff00-\uffef“”‘’…—]+"
)
_NOT_FIRST = frozenset("，。、；：？！）》」”’…—,.;:?!)]")
_NOT_LAST = frozenset("（《「“‘([")


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, each at most this many columns wide; a word that is wider has a line of its own."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and cell_len((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line or not piece.isspace() else ""
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _pieces(text: str) -> list[str]:
    """What may not be parted: words, and characters with the marks that belong to them."""
    found: list[str] = []
    for unit in _UNITS.findall(" ".join(text.split())):
        belongs = bool(found) and (
            (unit[0] in _NOT_FIRST and not found[-1].isspace()) or found[-1][-1] in _NOT_LAST
        )
        if belongs:
            found[-1] += unit
        else:
            found.append(unit)
    return found
