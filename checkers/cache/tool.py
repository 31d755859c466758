"""What an answer depends on besides the checked files: this program, and what it runs on."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from ..files.disk import content, digest
from . import store

_USED = ("pylint", "astroid", "networkx", "yaml", "pathspec")


def tool_name() -> str:
    """A name for this program as it is installed: its files, the packages that it uses, and the version of Python.

    An upgrade changes it, and so does an edit of an editable installation; a second installation of the same has the
    same name. The files are read once for the times that they have.
    """
    top = os.fspath(Path(__file__).parents[1])
    files = sorted(_files(top))
    stamps = digest("\n".join(f"{path} {stamp}" for path, stamp in files).encode(errors="surrogateescape"))
    known = store.load(f"tool-{stamps}")
    if not isinstance(known, str):
        known = digest("\n".join(f"{path.removeprefix(top)} {content(path)}" for path, _ in files).encode())
        store.save(f"tool-{stamps}", known)
    return " ".join((known, sys.version, sys.platform, *_versions()))


def _files(top: str) -> list[tuple[str, str]]:
    """Every file that says what is done or what is said, with its size and time of change."""
    found, todo = [], [top]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".po", ".md")):
                    about = entry.stat()
                    found.append((entry.path, f"{about.st_size} {about.st_mtime_ns}"))
                elif entry.is_dir() and entry.name != "__pycache__":
                    todo.append(entry.path)
    return found


def _versions() -> list[str]:
    """The packages that are used, by what the installer noted beside them: the names have the version."""
    found: list[str] = []
    for name in _USED:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            wanted = ("pyyaml" if name == "yaml" else name) + "-"
            try:
                notes = os.listdir(Path(spec.origin).parents[1])
            except OSError:
                notes = []
            found += sorted(note for note in notes if note.lower().startswith(wanted)) or [spec.origin]
    return found
