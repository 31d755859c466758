"""The files of one run: what findings are reported for, and what is read to understand it."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..finding import Skipped
from ..language import tr
from ..settings import Settings
from . import again, disk
from .context import users
from .prefilter import is_in, is_relevant, longest_word, speaks_of_ranks, words_in
from .roots import Folders, import_roots, package_folders, project_root
from .source import SourceFile, Unusable, checked, decode, parse, read_bytes
from .walk import Rules, is_ignored, outer_rules, patterns, walk


@dataclass
class FileSet:
    """What a run looks at.

    A verdict must not depend on which part of a project was named. So the files that use the named ones are read too,
    and those that the named ones use are loaded when a name leads there; findings are reported for `targets` only.

    Attributes:
        files: every file given by name, the relevant ones of the given folders, and those of the project that use
            them; parsed, sorted by path.
        targets: absolute paths of the Python files that findings are reported for.
        roots: folders from which absolute imports may start, outermost first.
        packages: folders of packages that are installed under another name than theirs.
        skipped: targets, and files loaded for their sake, that could not be analysed.
        unusable: given paths that could not be checked at all (missing, unparsable, no Python files inside).
        seen: number of Python files among the targets.
        beside: whether findings in other files than the targets are wanted, too.
    """

    files: list[SourceFile] = field(default_factory=list)
    targets: set[Path] = field(default_factory=set)
    roots: list[Path] = field(default_factory=list)
    packages: dict[str, Path] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unusable: list[Skipped] = field(default_factory=list)
    seen: int = 0
    beside: bool = False
    _edited: Mapping[Path, bytes] = field(default_factory=dict)
    _names: tuple[bytes, ...] = ()
    _loaded: dict[Path, SourceFile | None] = field(default_factory=dict)
    _thrown_out: set[Path] = field(default_factory=set)
    _unread: list[Path] | None = None
    _changed: Sequence[Path] = ()
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict)
    _words_of: dict[Path, bytes] = field(default_factory=dict)
    _folders: Folders = field(default_factory=Folders)

    @classmethod
    def gather(
        cls, paths: Sequence[Path], settings: Settings, edited: Mapping[Path, bytes] | None = None
    ) -> FileSet:
        """Walk the given paths and the projects around them, prefilter, and parse what is left.

        `edited` gives the bytes of files whose text is not (or not yet) that on disk.
        """
        found = cls(_edited=edited or {}, _names=cls.words(settings))
        given = list(dict.fromkeys(Path(os.path.abspath(path)) for path in paths))
        named = {path for path in given if path in found._edited or disk.is_file(path)}
        found.targets |= named
        for path in given:
            if disk.is_folder(path):
                below = {Path(name) for name in found._walk(path, settings)}
                found.targets |= below
                if not below:
                    found.unusable.append(Skipped(display(path), tr("no Python files")))
            elif path not in named:
                found.unusable.append(Skipped(display(path), _why_no_file(path)))
        found.seen = len(found.targets)
        around = {project_root(path, found._folders) for path in given if disk.exists(path)}
        projects = sorted(project for project in around if project is not None)
        with _no_collection():
            for path in found.targets:
                found._read(path, is_named=path in named)
            for project in projects:
                if project not in given:
                    found._read_users(project, settings)
        found.files.sort(key=lambda file: file.path)
        found.skipped.sort(key=lambda skip: skip.path)
        found.roots = import_roots(given, projects, found.files, found._folders)
        found.packages = package_folders(projects, found._folders)
        return found

    @staticmethod
    def words(settings: Settings) -> tuple[bytes, ...]:
        """What the sieve looks for besides its own words: the names of the user's layers."""
        return tuple(row["name"].rsplit(".", 1)[-1].encode() for row in settings.providers)

    def load(self, path: Path) -> SourceFile | None:
        """Any other Python file, read when a name leads there; None when it is absent or cannot be parsed."""
        if path not in self._loaded:
            file = None
            if self.exists(path) and disk.is_file(path):
                try:
                    file = parse(path, display(path), self._bytes(path))
                except Unusable as reason:
                    self.skipped.append(Skipped(display(path), str(reason)))
            self._loaded[path] = file
        return self._loaded[path]

    def source(self, shown: str) -> SourceFile | None:
        """The file that messages name so, if it was read and parsed."""
        return self._loaded.get(Path(os.path.abspath(shown)))

    def renamed(self, path: Path) -> tuple[str, Path] | None:
        """The package, and its folder, that a file is installed under by another name than its folders'."""
        return next((item for item in self.packages.items() if path.is_relative_to(item[1])), None)

    def installed_at(self, dotted: str) -> list[Path]:
        """Files that a dotted name may mean by such packages."""
        found = []
        for package, folder in self.packages.items():
            if dotted == package or dotted.startswith(f"{package}."):
                base = folder.joinpath(*dotted.removeprefix(package).split(".")[1:])
                found += [base.with_name(f"{base.name}.py"), base / "__init__.py"]
        return [path for path in found if self.exists(path)]

    def unread_has(self, mark: str, pattern: re.Pattern[str]) -> bool:
        """Whether a target that the sieve threw out has a text; the plain text `mark` is in each.

        Files that a name led to since are among them: what was loaded so far must not decide.
        """
        asked = (mark, pattern.pattern)
        if asked not in self._answers:
            self._answers[asked] = self._ask_unread(mark, pattern)
        return self._answers[asked]

    def _ask_unread(self, mark: str, pattern: re.Pattern[str]) -> bool:
        asked = (mark, pattern.pattern)
        word = longest_word(mark.encode())
        for path in self._to_ask(asked):
            if word in self._words(path):
                with suppress(Unusable):
                    if is_in(self._bytes(path), mark, pattern):
                        again.note_place(asked, path)
                        return True
                    self._pass_by(path)
        again.note_place(asked, None)
        return False

    def _to_ask(self, asked: tuple[str, str]) -> Iterable[Path]:
        """Where a text is to be looked for: first where it was before, and only in changed files if it was in none."""
        if self._unread is None:
            self._unread = sorted(self._thrown_out)
            self._changed = again.changed(self._unread)
        if again.is_nowhere(asked):
            return self._changed
        place = again.place_of(asked)
        return [place, *self._unread] if place is not None and place in self._thrown_out else self._unread

    def _words(self, path: Path) -> bytes:
        """The words of a file that was thrown out; a file that cannot be used has none."""
        if (known := self._words_of.get(path)) is None:
            known = b""
            with suppress(Unusable):
                known = words_in(self._bytes(path))
                self._pass_by(path)
            self._words_of[path] = known
        return known

    def _pass_by(self, path: Path) -> None:
        """A file that was thrown out was read for a question: it matters no further, if no name led to it."""
        if path not in self._loaded:
            disk.thrown_out(path)

    @property
    def parsed(self) -> list[SourceFile]:
        """Every file that was parsed so far."""
        return [file for file in self._loaded.values() if file is not None]

    def names_in(self, folder: Path) -> frozenset[str]:
        """What a folder holds."""
        return self._folders.names(str(folder))

    def exists(self, path: Path) -> bool:
        """Whether a file or folder is there, from listings of folders that are read once."""
        return self._folders.has(str(path))

    def _walk(self, top: Path, settings: Settings, report: bool = True) -> Iterable[str]:
        base = settings.base if top.is_relative_to(settings.base) else top
        rules: Rules = patterns(str(base), settings.exclude)
        outer = outer_rules(top)
        if not is_ignored(str(top), outer, folder=True):  # a folder named by hand is looked at all the same
            rules = (*outer, *rules)
        skip = self.skipped.append if report else _pass_over
        return walk(top, rules, skip, display)

    def _read(self, path: Path, is_named: bool) -> None:
        if not is_named and again.is_out(path, as_target=True):
            self._thrown_out.add(path)
            return
        try:
            data = self._bytes(path)
            if is_named or is_relevant(data, self._names):
                self._loaded[path] = file = parse(path, display(path), data)
                self.files.append(file)
            else:
                if not data.isascii():
                    decode(data)
                self._thrown_out.add(path)
                disk.thrown_out(path)
        except Unusable as reason:
            self._loaded[path] = None
            self.skipped.append(Skipped(display(path), str(reason)))
            if is_named:
                self.unusable.append(Skipped(display(path), str(reason)))

    def _read_users(self, project: Path, settings: Settings) -> None:
        """Parse the files of the project that use the targets. What is wrong with one shows when it is checked."""
        others: dict[Path, bytes] = {}
        for name in self._walk(project, settings, report=False):
            path = Path(name)
            if path not in self.targets and not again.is_out(path, as_target=False):
                with suppress(Unusable):
                    data = self._bytes(path)
                    if is_relevant(data, self._names):
                        others[path] = data
                    else:
                        disk.thrown_out(path)
        inside = [path for path in self.targets if path.is_relative_to(project)]
        for path in users(inside, others, project):
            if not speaks_of_ranks(others[path]):
                continue  # it may link a target to one that does, and is loaded then
            try:
                self._loaded[path] = file = parse(path, display(path), others[path])
                self.files.append(file)
            except Unusable:
                self._loaded[path] = None

    def _bytes(self, path: Path) -> bytes:
        found = self._edited.get(path)
        return read_bytes(path) if found is None else checked(found)


def display(path: Path | str) -> str:
    """How messages name a path: relative to the working folder when inside it, with forward slashes."""
    text, here = str(path), os.getcwd()
    if text == here:
        return "."
    if text.startswith(here.rstrip(os.sep) + os.sep):
        text = text[len(here.rstrip(os.sep)) + 1 :]
    return text.replace(os.sep, "/")


def _why_no_file(path: Path) -> str:
    if disk.is_link(path):
        return tr("broken symbolic link, or a loop of links")
    return tr("not a file or folder") if disk.exists(path) else tr("no such file or folder")


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
