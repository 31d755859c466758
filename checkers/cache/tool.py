"""What an answer depends on besides the checked files: this program, and what it runs on."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from ..files.disk import digest

_USED = ("pylint", "astroid", "networkx", "yaml", "pathspec")


def tool_name() -> str:
    """A name for this program as it is installed: its files, the packages that it uses, and the version of Python.

    An upgrade changes it, and so does an edit of an editable installation.
    """
    parts = [sys.version, sys.platform]
    todo = [os.fspath(Path(__file__).parents[1])]
    while todo:
        with os.scandir(todo.pop()) as found:
            for entry in found:
                if entry.name.endswith((".py", ".po")):
                    about = entry.stat()
                    parts.append(f"{entry.path} {about.st_size} {about.st_mtime_ns}")
                elif entry.is_dir() and entry.name != "__pycache__":
                    todo.append(entry.path)
    for name in _USED:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            about = os.stat(spec.origin)
            parts.append(f"{spec.origin} {about.st_size} {about.st_mtime_ns}")
            parts += _versions(Path(spec.origin).parents[1], name)
    return digest("\n".join(sorted(parts)).encode(errors="surrogateescape"))


def _versions(folder: Path, name: str) -> list[str]:
    """What the installer noted of a package beside it: the names have its version."""
    wanted = ("pyyaml" if name == "yaml" else name) + "-"
    try:
        return [each for each in os.listdir(folder) if each.lower().startswith(wanted)]
    except OSError:
        return []
