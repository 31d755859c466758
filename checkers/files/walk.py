"""Which Python files a folder holds, respecting .gitignore and excludes."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from ..finding import Skipped
from ..language import tr
from . import disk

# Folders that hold other people's code or build results, in every project.
NEVER = frozenset(
    ".bzr .direnv .eggs .git .hg .mypy_cache .nox .pytest_cache .ruff_cache .svn .tox .venv __pycache__ "
    "__pypackages__ _build buck-out node_modules site-packages venv".split()
)
# A folder, an expression that matches what any of its patterns matches, and the patterns.
Rules = tuple[tuple[str, re.Pattern[str], GitIgnoreSpec], ...]


def walk(
    top: Path, outer: Rules, skip: Callable[[Skipped], None], display: Callable[[str], str]
) -> Iterator[str]:
    """Paths of the Python files below `top`, in a fixed order.

    Links to folders are not followed: what they point to is met on its own when it is inside the tree, and is not part
    of the tree (often a large data set) when it is outside.
    """
    todo: list[tuple[str, Rules]] = [(str(top), outer)]
    while todo:
        folder, rules = todo.pop()
        try:
            entries = disk.entries(folder)
        except OSError as error:
            skip(
                Skipped(
                    display(folder),
                    tr("folder cannot be read: %(reason)s", reason=(error.strerror or str(error)).lower()),
                )
            )
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            rules = (*rules, *read_ignore_file(folder))
        inner: list[tuple[str, Rules]] = []
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in NEVER and not is_ignored(entry.path, rules, folder=True):
                    inner.append((entry.path, rules))
            elif entry.is_symlink() and (reason := _refused_link(entry, top)):
                if reason != _ELSEWHERE and not is_ignored(entry.path, rules):
                    skip(Skipped(display(entry.path), reason))
            elif name.endswith(".py") and entry.is_file() and not is_ignored(entry.path, rules):
                yield entry.path
        if not any(entry.name == "pyvenv.cfg" for entry in entries):
            todo += reversed(inner)


_ELSEWHERE = tr("seen under its own name")


def _refused_link(entry: os.DirEntry[str], top: Path) -> str:
    """Why a link is not followed; empty for a link to a Python file."""
    python = entry.name.endswith(".py")
    kind = disk.kind(entry.path)
    is_folder, is_there = kind == "ld", kind in ("ld", "lf")
    if kind == disk.LOOP:
        return tr("symbolic link loop") if python else _ELSEWHERE
    if not is_there:
        return tr("broken symbolic link") if python else _ELSEWHERE
    target = disk.real(entry.path)
    if is_folder and (entry.path + os.sep).startswith(target + os.sep):
        return tr("symbolic link loop")
    if (target + os.sep).startswith(disk.real(top) + os.sep):
        return _ELSEWHERE
    return tr("symbolic link to a folder outside the tree: name that folder to check it") if is_folder else ""


def is_ignored(path: str, rules: Rules, folder: bool = False) -> bool:
    """Whether .gitignore files say so; the last one that speaks of the path decides."""
    for base, any_of, spec in reversed(rules):
        relative = path[len(base) + 1 :].replace(os.sep, "/") + ("/" if folder else "")
        if any_of.match(relative):
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return verdict
    return False


def read_ignore_file(folder: str) -> Rules:
    """The rules of a folder's .gitignore; none when there is no readable one."""
    try:
        data = disk.read(os.path.join(folder, ".gitignore"))
        return patterns(folder, tuple(data.decode(errors="replace").splitlines()))
    except OSError:
        return ()


def _pattern(line: Any) -> Any:
    """A pattern that is matched in a time that does not explode: `*a*a*a*a` tries a long name in every way there is.

    Of several stars in one name, each but the last ends at the first place where what follows it fits: if the rest fits
    behind a later one, it fits behind the first one too. The same holds for `**` between folders.
    """
    made = _KIND(line)
    regex = made.regex.pattern if made.regex is not None else ""
    if regex.count(_STAR) > 2 or regex.count(_FOLDERS) > 1:
        made.regex = re.compile(_sparing_folders(_sparing(regex)))
    return made


_KIND: Any = type(GitIgnoreSpec.from_lines(["a"]).patterns[0])  # pathspec has moved it between versions
_STAR = "[^/]*"
_FOLDERS = "(?:/.+)?/"
_ANY_TOP = "^(?:.+/)?"
_ONE_NAME = re.compile(r"(?:\\[^/\w]|\[\^/\]|\[(?!\^/\])[^\[\]/\\]+\]|[^/\\()\[\]*+?{}|^$])*")


def _sparing(regex: str) -> str:
    first, *rest = regex.split(_STAR)
    found = first
    for index, piece in enumerate(rest):
        if index < len(rest) - 1 and _ONE_NAME.fullmatch(piece):
            found += f"(?:(?!{piece})[^/])*{piece}" if piece else ""
        else:
            found += _STAR + piece
    return found


def _sparing_folders(regex: str) -> str:
    first, *rest = regex.split(_FOLDERS)
    if len(rest) < 2:
        return regex
    top = first.removeprefix(_ANY_TOP)
    found = first if top == first else f"^(?:(?!{top}/)[^/]+/)*{top}"
    for piece in rest[:-1]:
        found += f"/(?:(?!{piece}/)[^/]+/)*{piece}"
    return f"{found}{_FOLDERS}{rest[-1]}"


def patterns(folder: str, lines: tuple[str, ...]) -> Rules:
    """Rules from patterns relative to `folder`; a pattern that is no pattern is passed over, as git does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as a set inside a set: not ours to report
        return _patterns(folder, lines)


def _patterns(folder: str, lines: tuple[str, ...]) -> Rules:
    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line], _pattern)
        except (ValueError, re.error):
            continue
        good.append(line)
    spec = GitIgnoreSpec.from_lines(good, _pattern)
    # One expression of all patterns: almost every path matches none, and asking for each takes half of a walk.
    alternatives = [pattern.regex.pattern for pattern in spec.patterns if pattern.regex is not None]
    if not alternatives:
        return ()
    whole = [each if each.startswith("^") else f".*(?:{each})" for each in alternatives]
    any_of = re.compile("|".join(f"(?:{re.sub(_GROUP_NAME, '(?:', each)})" for each in whole), re.DOTALL)
    return ((folder.rstrip(os.sep), any_of, spec),)


_GROUP_NAME = r"\(\?P<\w+>"


def outer_rules(top: Path) -> Rules:
    """The rules of the .gitignore files above `top`, up to the repository's own folder."""
    found: list[Rules] = []
    for above in top.parents:
        found.append(read_ignore_file(str(above)))
        if disk.exists(above / ".git"):
            return tuple(rule for rules in reversed(found) for rule in rules)
    return ()
