"""Which Megatron-Core a project asks for, where its requirements say so."""

from __future__ import annotations

import re
from pathlib import Path

from ..files import disk
from .project import Project

_FILES = re.compile(r"(requirements.*\.(txt|in)|pyproject\.toml|setup\.(cfg|py))$")
_CORE = re.compile(r"megatron[-_]core\s*(?:\[[^\]]*\])?\s*\(?(==|~=|<=?|>=?|@)\s*([\w.]*)")
_LARGEST = 1 << 20


def pins_old_core(project: Project, path: Path) -> bool:
    """Whether the requirements nearest to a file, at or above it inside the project, ask for a release before 0.3."""
    known: dict[Path, bool] = project.knowledge(_by_folder)
    folder = path.parent
    if folder not in known:
        known[folder] = _pins(project, folder)
    return known[folder]


def _by_folder(_: Project) -> dict[Path, bool]:
    return {}


def _pins(project: Project, folder: Path) -> bool:
    roots = [root for root in project.files.roots if folder.is_relative_to(root)]
    while True:
        names = sorted(project.files.names_in(folder))
        installed = [f"{name}/METADATA" for name in names if name.endswith(".dist-info")]
        for name in (*filter(_FILES.match, names), *installed):
            asked = _CORE.findall(_text(folder / name))
            if asked:
                return all(_is_old(sign, version) for sign, version in asked)
        if not roots or folder == roots[0] or folder.parent == folder:
            return False
        folder = folder.parent


def _is_old(sign: str, version: str) -> bool:
    """Whether no release from 0.3 on fits."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]] + [0, 0]
    newest = (numbers[0], numbers[1])
    return (sign in ("==", "~=", "<=") and newest < (0, 3)) or (sign == "<" and newest <= (0, 3))


def _text(path: Path) -> str:
    try:
        data = disk.read(path)
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if len(data) < _LARGEST else ""
