"""Whether a collective follows an operation on one rank's part and may complete it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .events import Event

_COLLECTIVE = re.compile(
    r"(?i)all_?reduce|all_?gather|reduce_|gather_from|all_?to_?all|psum|\bgather\(|broadcast"
)


def completed_later(event: Event) -> bool:
    """Whether the function of an event, or one that called it, goes on to a collective."""
    return any(_COLLECTIVE.search(text) for text in _rest_of_functions(event))


def _rest_of_functions(event: Event) -> Iterator[str]:
    for site in (event.site, *event.stack):
        function = site.function
        if isinstance(function, ast.FunctionDef):
            lines = site.module.lines[site.node.lineno - 1 : function.end_lineno]
            yield "\n".join(lines)
