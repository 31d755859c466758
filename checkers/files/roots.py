"""Where a project begins, and from which folders its absolute imports start."""

from __future__ import annotations

import ast
import configparser
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import disk
from .source import SourceFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MARKERS = (".git", "pyproject.toml", "setup.cfg", "setup.py")


class Folders:
    """Listings of folders, each read once: asking the file system per name is slow on a cluster's disks."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def names(self, folder: str) -> frozenset[str]:
        """What the folder holds; nothing when it cannot be read."""
        if (known := self._names.get(folder)) is None:
            try:
                known = frozenset(entry.name for entry in disk.entries(folder))
            except OSError:
                known = frozenset()
            self._names[folder] = known
        return known

    def has(self, path: str) -> bool:
        """Whether something is there under this very name (on file systems that ignore case, too)."""
        folder, _, name = path.rpartition(os.sep)
        return name in self.names(folder or os.sep)


def project_root(path: Path, folders: Folders) -> Path | None:
    """The nearest folder at or above `path` that is marked as a project, or else the outermost package around it.

    None where there is neither: to walk whatever lies around a file could take for ever. For the same reason a home
    folder is no project, even when its settings are under version control.
    """
    start = path if disk.is_folder(path) else path.parent
    home = Path(os.path.expanduser("~"))  # stays as it is for a user without a home folder
    for folder in (start, *start.parents):
        if folder != home and folders.names(str(folder)).intersection(MARKERS):
            return folder
    outside = package_root(start, folders)
    return None if outside == start else outside / start.relative_to(outside).parts[0]


def package_root(folder: Path, folders: Folders) -> Path:
    """The first folder at or above `folder` that is no package: where the imports of its modules start."""
    while "__init__.py" in folders.names(str(folder)) and folder.parent != folder:
        folder = folder.parent
    return folder


def import_roots(
    given: Iterable[Path], projects: Iterable[Path], files: Iterable[SourceFile], folders: Folders
) -> list[Path]:
    """Folders from which absolute imports may start, outermost first.

    Three kinds: the projects, the given folders and their `src`; the folder above each outermost package; and each
    folder around a file in which a name that this file imports is found, which covers namespace packages, several
    roots in one tree and scripts beside their modules.
    """
    tops = [Path(top) for top in (*projects, *given)]
    roots = {
        folder
        for folder in tops
        if disk.is_folder(folder) and "__init__.py" not in folders.names(str(folder))
    }
    roots |= {folder / "src" for folder in roots if "src" in folders.names(str(folder))}
    limits = {str(folder) for folder in tops}
    seen: set[tuple[str, frozenset[str]]] = set()
    for file in files:
        folder = file.path.parent
        names = frozenset(_imported_tops(file.tree))
        if (str(folder), names) in seen:
            continue
        seen.add((str(folder), names))
        roots.add(package_root(folder, folders))
        while True:
            inside = folders.names(str(folder))
            if any(name in inside or f"{name}.py" in inside for name in names):
                roots.add(folder)
            if str(folder) in limits or folder.parent == folder:
                break
            folder = folder.parent
    return sorted(roots, key=lambda root: (len(root.parts), str(root)))


def _imported_tops(tree: ast.Module) -> Iterable[str]:
    """First names of the absolute imports of a file, those inside functions left out: they rarely name a new root."""
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            dotted = [node.module]
        else:
            if isinstance(node, (ast.If, ast.Try)):
                todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            continue
        for name in dotted:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names:
                yield top


def package_folders(projects: Iterable[Path], folders: Folders) -> dict[str, Path]:
    """Packages that setuptools installs under another name than their folder's (`package_dir`), by dotted name.

    A settings file that cannot be read maps nothing: what is wrong with it is not for a check to say.
    """
    found: dict[str, Path] = {}
    for project in projects:
        names = folders.names(str(project))
        for name, read in (("setup.cfg", _cfg_mapping), ("pyproject.toml", _toml_mapping)):
            if name in names:
                for package, folder in read(project / name).items():
                    place = project / str(folder)
                    if package and disk.is_folder(place):
                        found[package] = place
    return found


def _cfg_mapping(path: Path) -> Mapping[str, Any]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(disk.read(path).decode())
    except (OSError, ValueError, configparser.Error):
        return {}
    lines = parser.get("options", "package_dir", fallback="").replace(",", "\n").splitlines()
    pairs = [line.partition("=") for line in lines if "=" in line]
    return {name.strip(): folder.strip() for name, _, folder in pairs}


def _toml_mapping(path: Path) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(disk.read(path).decode())["tool"]["setuptools"]["package-dir"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}
