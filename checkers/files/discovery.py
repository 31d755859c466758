"""The files of one run: what findings are reported for, and what is read to understand it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..finding import Skipped
from ..settings import Settings
from .prefilter import is_relevant
from .roots import Folders, import_roots, project_root
from .source import SourceFile, Unusable, decode, parse, read_bytes
from .walk import Rules, is_ignored, outer_rules, patterns, walk


@dataclass
class FileSet:
    """What a run looks at.

    A verdict must not depend on which part of a project was named, so the relevant files of the whole project around
    each given path are read, and findings are reported for `targets` only.

    Attributes:
        files: relevant files of the projects and every file given by name, parsed, sorted by path.
        targets: absolute paths of the Python files that findings are reported for.
        roots: folders from which absolute imports may start, outermost first.
        skipped: files among the targets, or found relevant, that could not be analysed.
        unusable: given paths that could not be checked at all (missing, unparsable, no Python files inside).
        seen: number of Python files among the targets.
    """

    files: list[SourceFile] = field(default_factory=list)
    targets: set[Path] = field(default_factory=set)
    roots: list[Path] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unusable: list[Skipped] = field(default_factory=list)
    seen: int = 0
    _loaded: dict[Path, SourceFile | None] = field(default_factory=dict)
    _folders: Folders = field(default_factory=Folders)

    @classmethod
    def gather(cls, paths: Sequence[Path], settings: Settings) -> FileSet:
        """Walk the given paths and the projects around them, prefilter, and parse what is left."""
        found = cls()
        given = list(dict.fromkeys(Path(os.path.abspath(path)) for path in paths))
        named = {path for path in given if path.is_file()}
        inside: dict[Path, bool] = dict.fromkeys(sorted(named), True)
        for path in given:
            if path.is_dir():
                below = [Path(name) for name in found._walk(path, settings)]
                inside.update(dict.fromkeys(below, True))
                if not below:
                    found.unusable.append(Skipped(display(path), "no Python files"))
            elif path not in named:
                found.unusable.append(Skipped(display(path), _why_no_file(path)))
        found.targets = set(inside)
        found.seen = len(inside)
        projects = {project_root(path, found._folders) for path in given if path.exists()}
        for project in sorted(projects):
            if project not in given:
                for name in found._walk(project, settings, report=False):
                    inside.setdefault(Path(name), False)
        with _no_collection():
            for path in sorted(inside):
                found._read(path, is_target=inside[path], is_named=path in named)
        found.skipped.sort(key=lambda skip: skip.path)
        found.roots = import_roots(given, projects, found.files, found._folders)
        return found

    def load(self, path: Path) -> SourceFile | None:
        """Any other Python file, read when a name leads there; None when it is absent or cannot be parsed."""
        if path not in self._loaded:
            file = None
            if self.exists(path) and path.is_file():
                try:
                    file = parse(path, display(path), read_bytes(path))
                except Unusable as reason:
                    self.skipped.append(Skipped(display(path), str(reason)))
            self._loaded[path] = file
        return self._loaded[path]

    def exists(self, path: Path) -> bool:
        """Whether a file or folder is there, from listings of folders that are read once."""
        return self._folders.has(str(path))

    def roots_for(self, path: Path) -> list[Path]:
        """Import roots in the order in which a file's absolute imports try them.

        The roots around the file come first, the nearest before the others, so that a script's `import model` finds
        the module beside it and not that of another example.
        """
        around = [root for root in reversed(self.roots) if path.is_relative_to(root)]
        return around + [root for root in self.roots if root not in around]

    def _walk(self, top: Path, settings: Settings, report: bool = True) -> Iterable[str]:
        base = settings.base if top.is_relative_to(settings.base) else top
        rules: Rules = patterns(str(base), settings.exclude)
        outer = outer_rules(top)
        if not is_ignored(str(top), outer, folder=True):  # a folder named by hand is looked at all the same
            rules = (*outer, *rules)
        skip = self.skipped.append if report else _pass_over
        return walk(top, rules, skip, display)

    def _read(self, path: Path, is_target: bool, is_named: bool) -> None:
        try:
            data = read_bytes(path)
            if is_named or is_relevant(data):
                self._loaded[path] = file = parse(path, display(path), data)
                self.files.append(file)
            elif not data.isascii() and is_target:
                decode(data)
        except Unusable as reason:
            self._loaded[path] = None
            if is_target:
                self.skipped.append(Skipped(display(path), str(reason)))
            if is_named:
                self.unusable.append(Skipped(display(path), str(reason)))


def display(path: Path | str) -> str:
    """How messages name a path: relative to the working folder when inside it, with forward slashes."""
    text, here = str(path), os.getcwd()
    if text == here:
        return "."
    if text.startswith(here.rstrip(os.sep) + os.sep):
        text = text[len(here.rstrip(os.sep)) + 1 :]
    return text.replace(os.sep, "/")


def _why_no_file(path: Path) -> str:
    if path.is_symlink():
        return "broken symbolic link, or a loop of links"
    return "not a file or folder" if path.exists() else "no such file or folder"


def _pass_over(_: Skipped) -> None:
    """Files outside the given paths are context: what is wrong with them is reported when they are checked."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """Syntax trees hold no cycles; collecting while thousands of nodes are made takes most of the parse time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
