"""What git says of a tree. Nothing is changed in it: neither the files, nor the index, nor a branch."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..language import tr
from ..settings import SettingsError

_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}


class GitFailed(Exception):
    """A command that git refused; the text is what it said."""


def git(folder: Path, *arguments: str, **variables: str) -> bytes:
    """The output of a git command in a folder.

    Raises:
        GitFailed: it failed.
        SettingsError: there is no git.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            env={**os.environ, **_QUIET, **variables},
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SettingsError(tr("git cannot be run: %(why)s", why=why)) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitFailed(said[-1] if said else f"git {arguments[0]} failed")
    return done.stdout


def top_of(paths: list[Path]) -> Path:
    """The one repository that holds all paths.

    Raises:
        SettingsError: there is none, or there are several.
    """
    tops = set()
    for path in paths:
        folder = next(part for part in (path, *path.parents) if os.path.isdir(part))
        try:
            tops.add(Path(os.fsdecode(git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))))
        except GitFailed as error:
            said = "%(path)s: not in a git repository that can be read: %(why)s"
            raise SettingsError(tr(said, path=path, why=error)) from None
    if len(tops) != 1:
        said = "the checked paths lie in several git repositories: %(tops)s"
        raise SettingsError(tr(said, tops=", ".join(sorted(map(str, tops)))))
    return tops.pop()


def commit_of(top: Path, revision: str) -> str:
    """The commit where the current branch left `revision`, or the empty tree where nothing is committed yet.

    Raises:
        SettingsError: there is no such revision, or this clone does not reach back to it.
    """
    try:
        head = _resolved(top, "HEAD")
    except GitFailed:
        if revision != "HEAD":
            said = "changed-since: nothing is committed yet, so there is no %(revision)s"
            raise SettingsError(tr(said, revision=repr(revision))) from None
        return _text(git(top, "hash-object", "-t", "tree", os.devnull))
    is_shallow = _text(git(top, "rev-parse", "--is-shallow-repository")) == "true"
    if is_shallow:
        hint = tr(
            "this clone is shallow: fetch more of its history, `git fetch --unshallow` or `fetch-depth: 0` in CI"
        )
    else:
        hint = tr("`git log --oneline` and `git branch --all` list what there is")
    try:
        wanted = _resolved(top, revision)
    except GitFailed:
        said = "changed-since: there is no revision %(revision)s; %(hint)s"
        raise SettingsError(tr(said, revision=repr(revision), hint=hint)) from None
    try:
        return _text(git(top, "merge-base", wanted, head))
    except GitFailed:
        if is_shallow:
            said = "changed-since: where %(revision)s and HEAD part cannot be seen; %(hint)s"
            raise SettingsError(tr(said, revision=repr(revision), hint=hint)) from None
        return wanted  # no common history: the trees themselves are compared


def _resolved(top: Path, revision: str) -> str:
    return _text(git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))


@dataclass(frozen=True)
class Changed:
    """Files of the work tree that are not those of a commit, relative to the repository.

    `renamed` leads from a file's present name to the one it had.
    """

    files: frozenset[str]
    renamed: dict[str, str]


def changed_since(top: Path, commit: str, untracked: bool) -> Changed:
    """What differs between a commit and the work tree; `untracked` counts files that git does not follow as new."""
    parts = os.fsdecode(git(top, "diff", "--name-status", "-z", "-M", "--no-ext-diff", commit, "--")).split(
        "\0"
    )
    files, renamed = set(), {}
    while len(parts) > 1:
        status = parts.pop(0)
        old = parts.pop(0)
        new = parts.pop(0) if status[:1] in "RC" else old
        files.add(new)
        if status[:1] == "R":
            renamed[new] = old
    if untracked:
        files |= set(listed(top, "--others", "--exclude-standard"))
    return Changed(frozenset(files), renamed)


def listed(top: Path, *options: str) -> list[str]:
    """Files, as `git ls-files` lists them."""
    return [name for name in os.fsdecode(git(top, "ls-files", "-z", *options)).split("\0") if name]


_MOST_TEXTS = 200


def texts_of(top: Path, commit: str, names: set[str]) -> dict[Path, bytes | None] | None:
    """The texts that files have in a commit, as a checkout writes them, by their paths; None is no file.

    Nothing where that takes long, where one is no plain file, or where the index hides files of the work tree.

    Raises:
        GitFailed: git cannot say.
    """
    tags = {entry[:1] for entry in listed(top, "-v")}
    if len(names) > _MOST_TEXTS or tags - {"H"}:
        return None
    kinds = {}
    rows = (
        git(top, "ls-tree", "-z", commit, "--", *sorted(names), GIT_LITERAL_PATHSPECS="1") if names else b""
    )
    for row in os.fsdecode(rows).split("\0")[:-1]:
        about, _, name = row.partition("\t")
        kinds[name] = about.split()[0]
    if any(kind not in ("100644", "100755") for kind in kinds.values()):
        return None
    return {
        top / name: git(top, "cat-file", "--filters", f"{commit}:{name}") if name in kinds else None
        for name in names
    }


def head_of(folder: Path) -> str:
    """The commit that is checked out around a folder; empty where there is none, or no git."""
    try:
        return _resolved(folder, "HEAD")
    except (GitFailed, SettingsError):
        return ""


def renames(folder: Path, commit: str) -> dict[str, str]:
    """New names of files that were renamed since a commit, by their old ones, relative to a folder.

    Nothing where git cannot say: a baseline is of use without a repository, too.
    """
    try:
        found = git(
            folder,
            "diff",
            "--name-status",
            "-z",
            "-M",
            "--no-ext-diff",
            "--diff-filter=R",
            "--relative",
            commit,
            "--",
        )
    except (GitFailed, SettingsError):
        return {}
    parts = os.fsdecode(found).split("\0")
    return {parts[at + 1]: parts[at + 2] for at in range(0, len(parts) - 2, 3)}


def _text(found: bytes) -> str:
    return found.decode(errors="replace").strip()
