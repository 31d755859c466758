"""Which other files of a project bear on the checked ones: those that use them, however indirectly.

What the checked files use is loaded when a name leads there. Who uses them cannot be found that way, and decides which
states reach a module from outside. So the names of the modules that a file imports or mentions (registries name
theirs in strings) are read from its bytes, which is far cheaper than parsing all of a project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

# Two expressions, each with a first character to look for: one of both takes three times as long.
_IMPORT = re.compile(rb"\n[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\w+|\()|import[ \t]+([.\w]+))")
_TEXT = re.compile(rb"[\"'](\w+(?:\.\w+)+)[\"']")


def users(targets: Iterable[Path], others: Mapping[Path, bytes], project: Path) -> set[Path]:
    """Those of `others` that import or mention a target, or one of its users."""
    waiting = {path: _mentions(path, data, project) for path, data in others.items()}
    found: set[Path] = set()
    fresh = set(targets)
    while fresh and waiting:
        names = {name for path in fresh for name in _names(path, project)}
        fresh = {path for path, mentions in waiting.items() if not names.isdisjoint(mentions)}
        found |= fresh
        for path in fresh:
            del waiting[path]
    return found


def _names(path: Path, project: Path) -> set[str]:
    """Every dotted name that may stand for a file or for the packages around it, wherever its imports start.

    The bare last name counts as well: scripts import the module beside them so. So does the bare name of the package
    around it: `from package import (a, b)` gives no more.
    """
    parts = path.relative_to(project).with_suffix("").parts
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    last = len(parts)
    names = {".".join(parts[start:end]) for start in range(last) for end in range(start + 2, last + 1)}
    return names | set(parts[-1:]) | set(parts[-2:-1])


def _mentions(path: Path, data: bytes, project: Path) -> set[str]:
    package = path.relative_to(project).parts[:-1]
    found = {text.decode("ascii", "ignore") for text in _TEXT.findall(data)}
    for parts in _IMPORT.findall(b"\n" + data):
        source, first, module = (part.decode("ascii", "ignore") for part in parts)
        name = source or module
        level = len(name) - len(name.lstrip("."))
        if level:
            name = ".".join((*package[: len(package) - level + 1], *filter(None, [name.lstrip(".")])))
        found.add(name)
        if source:
            found.add(f"{name}.{first}")
    return found
