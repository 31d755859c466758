"""What was found in a commit: by a run over its files, or by an earlier run over the same."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..cache import store
from ..cache.answer import answer_before
from ..cache.tool import tool_name
from ..cache.trace import Sight, noted, reads_of
from ..files import disk
from ..files.discovery import FileSet
from ..settings import Settings
from .git import Changed, GitFailed, git, texts_of
from .identity import Identity, identities


def found_before(
    top: Path,
    commit: str,
    unfollowed: Sequence[str],
    names: Sequence[str],
    settings: Settings,
    changed: Changed | None = None,
) -> Counter[Identity]:
    """What a run finds by today's settings in the tree as it was.

    A run over the work tree before it was changed has found it; otherwise the tree is restored to a folder of its own.
    What git does not follow is linked to, as it is now. A commit stays as it is, so that an answer holds as long as
    what it read of the rest does.

    Raises:
        GitFailed: the tree cannot be restored.
    """
    told: list[Any] = [
        os.path.relpath(value, top) if isinstance(value := getattr(settings, item.name), Path) else value
        for item in fields(settings)
        if item.name != "jobs"
    ]
    plugins = [disk.content(settings.base / plugin) for plugin in settings.plugins]
    parts = [tool_name(), str(top), commit, names, unfollowed, told, plugins]
    key = disk.digest(repr(parts).encode(errors="surrogateescape"))
    kept = _kept(key, settings)
    if kept is not None:
        return kept
    seen = _seen_before(top, commit, names, settings, changed) if changed is not None else None
    if seen is not None:
        found, reads = seen
        _save(key, _outside(reads, top, top, unfollowed), found)
        return found
    with tempfile.TemporaryDirectory(prefix="onescience-check-") as folder:
        old = Path(os.path.realpath(folder), top.name or "tree")
        _restore(top, commit, unfollowed, old)
        with disk.watched() as reads:
            found = _run(top, old, names, settings)
    own = _outside(reads, old, top, unfollowed)
    if reads.is_steady:
        _save(key, own, found)
    return found


def _save(key: str, reads: disk.Reads, found: Counter[Identity]) -> None:
    rows = [[each.path, each.symbol, each.inside, each.text, count] for each, count in found.items()]
    store.save(key, {"reads": noted(reads), "found": rows})


def _seen_before(
    top: Path, commit: str, names: Sequence[str], settings: Settings, changed: Changed
) -> tuple[Counter[Identity], disk.Reads] | None:
    """What a run over the work tree found and read when it was as the commit has it; None where none is remembered."""
    paths = [top / name for name in names]
    try:
        texts = texts_of(top, commit, {*changed.files, *changed.renamed.values()})
    except GitFailed:
        return None
    if texts is None or any(os.path.realpath(path) != os.path.abspath(path) for path in paths):
        return None
    seen = answer_before(paths, settings, texts)
    if seen is None:
        return None
    answer, reads = seen
    owns = identities(
        answer.result.findings,
        answer.files.source,
        lambda shown: os.path.relpath(os.path.abspath(shown), top),
    )
    return Counter(owns), reads


def _kept(key: str, settings: Settings) -> Counter[Identity] | None:
    try:
        note = store.load(key)
        if note is None or not Sight(reads_of(note["reads"]), FileSet.words(settings)).is_same():
            return None
        return Counter({Identity(*map(str, row[:-1])): int(row[-1]) for row in note["found"]})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _outside(reads: disk.Reads, old: Path, top: Path, unfollowed: Sequence[str]) -> disk.Reads:
    """What a run read besides the files of the commit, by the names that it has in the work tree."""
    links = tuple(str(old / name) for name in unfollowed)

    def present(path: str) -> str | None:
        if any(path == link or path.startswith(link + os.sep) for link in links):
            return str(top) + path[len(str(old)) :]
        inside = old if old == top else old.parent
        return None if path == str(inside) or path.startswith(str(inside) + os.sep) else path

    found = disk.Reads(questions=reads.questions)
    for path, seen in reads.files.items():
        if (name := present(path)) is not None:
            found.files[name] = seen
    for path, listing in reads.folders.items():
        if (name := present(path)) is not None:
            found.folders[name] = listing
    for path in reads.kinds:
        if (name := present(path)) is not None:
            found.kinds[name] = disk.kind_now(name)  # it was seen through a link
    for path, target in reads.links.items():
        if (name := present(path)) is not None:
            found.links[name] = target
    return found


def _restore(top: Path, commit: str, unfollowed: Sequence[str], old: Path) -> None:
    """Write the tree of the commit to a folder, with links to what git does not follow."""
    index = str(old.with_name("index"))
    (old / ".git").mkdir(parents=True)  # here the project ends, as it does in the work tree
    git(top, "read-tree", commit, GIT_INDEX_FILE=index)
    git(top, "checkout-index", "--all", "--quiet", f"--prefix={old}{os.sep}", GIT_INDEX_FILE=index)
    for name in unfollowed:
        link = old / name
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(top / name)


def _run(top: Path, old: Path, names: Sequence[str], settings: Settings) -> Counter[Identity]:
    from ..engine import run

    there = [old / name for name in names if os.path.exists(old / name)]
    if not there:
        return Counter()
    base = settings.base
    if base.is_relative_to(top):
        base = old / base.relative_to(top)
    old_settings = replace(settings, base=base)
    files = FileSet.gather(there, old_settings)
    found = run(there, old_settings, file_set=files).findings
    return Counter(
        identities(found, files.source, lambda shown: os.path.relpath(os.path.abspath(shown), old))
    )
