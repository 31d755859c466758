"""Which other files of a project bear on the checked ones: those that use them, however indirectly.

What the checked files use is loaded when a name leads there. Who uses them cannot be found that way, and decides which
states reach a module from outside. So the names of the modules that a file imports or mentions (registries name
theirs in strings) are read from its bytes, which is far cheaper than parsing all of a project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_MENTION = re.compile(
    rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\w+|\()"
    rb"|^[ \t]*import[ \t]+([.\w]+)"
    rb"|[\"'](\w+(?:\.\w+)+)[\"']",
    re.MULTILINE,
)


def users(targets: Iterable[Path], others: Mapping[Path, bytes], project: Path) -> set[Path]:
    """Those of `others` that import or mention a target, or one of its users."""
    waiting = {path: _mentions(path, data, project) for path, data in others.items()}
    found: set[Path] = set()
    fresh = set(targets)
    while fresh:
        names = {name for path in fresh for name in _names(path, project)}
        fresh = {path for path, mentions in waiting.items() if not names.isdisjoint(mentions)}
        found |= fresh
        for path in fresh:
            del waiting[path]
    return found


def _names(path: Path, project: Path) -> set[str]:
    """Every dotted name that may stand for a file or for the packages around it, wherever its imports start.

    The bare last name counts as well: scripts import the module beside them so.
    """
    parts = path.relative_to(project).with_suffix("").parts
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    last = len(parts)
    return {".".join(parts[start:end]) for start in range(last) for end in range(start + 2, last + 1)} | set(
        parts[-1:]
    )


def _mentions(path: Path, data: bytes, project: Path) -> set[str]:
    package = path.relative_to(project).parts[:-1]
    found: set[str] = set()
    for match in _MENTION.finditer(data):
        source, first, module, text = (
            part.decode("ascii", "ignore") if part else "" for part in match.groups()
        )
        name = source or module or text
        level = len(name) - len(name.lstrip("."))
        if level:
            name = ".".join((*package[: len(package) - level + 1], *filter(None, [name.lstrip(".")])))
        found.add(name)
        if source:
            found.add(f"{name}.{first}")
    return found
