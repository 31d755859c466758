"""What a change brings: findings on its lines, and those that it causes elsewhere.

The tree as it was is written to a folder of its own, for the time of the run, and checked there as the present one is.
So no finding is missed because the change that causes it stands in another file, and the work tree stays untouched.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..engine import run
from ..files.discovery import FileSet
from ..files.source import Unusable, decode, read_bytes
from ..files.walk import NEVER
from ..finding import Finding, Result
from ..language import tr
from ..settings import Settings, SettingsError
from .git import Changed, GitFailed, changed_since, commit_of, git, listed, top_of
from .identity import Identity, identities

HOOK = "pre-commit"
"""In place of a revision: what pre-commit compares with, and files that git does not follow are left out."""


@dataclass(frozen=True)
class Change:
    """The files of a repository that differ from a commit."""

    top: Path
    commit: str
    changed: Changed
    is_hook: bool

    @classmethod
    def since(cls, revision: str, paths: Sequence[Path]) -> Change:
        """What differs from the commit where the current branch left a revision.

        Raises:
            SettingsError: there is no such revision, or no repository.
        """
        top = top_of([Path(os.path.realpath(path)) for path in paths])
        is_hook = revision == HOOK
        wanted = os.environ.get("PRE_COMMIT_FROM_REF", "HEAD") if is_hook else revision
        try:
            commit = commit_of(top, wanted)
            return cls(top, commit, changed_since(top, commit, untracked=not is_hook), is_hook)
        except GitFailed as error:
            raise SettingsError(tr("changed-since: git says: %(text)s", text=error)) from None

    def narrowed(self, result: Result, files: FileSet, paths: Sequence[Path], settings: Settings) -> Result:
        """The result without what was found before; of the undecided places, those on changed lines."""
        if not self.changed.files or not (result.findings or result.undecided):
            return replace(result, findings=[], undecided=[], older=len(result.findings))
        with tempfile.TemporaryDirectory(prefix="onescience-check-") as folder:
            top = Path(os.path.realpath(folder), self.top.name or "tree")
            try:
                self._restore(top)
            except GitFailed as error:
                raise SettingsError(tr("changed-since: git says: %(text)s", text=error)) from None
            before = self._before(top, paths, settings)
            owns = identities(result.findings, files.source, lambda shown: self._old_name(self._name(shown)))
            kept = []
            for finding, own in zip(result.findings, owns, strict=True):
                is_old = before[own] > 0
                before[own] -= is_old
                if not is_old or self._is_on_changed_line(finding, files, top):
                    kept.append(finding)
            undecided = [f for f in result.undecided if self._is_on_changed_line(f, files, top)]
        return replace(result, findings=kept, undecided=undecided, older=len(result.findings) - len(kept))

    def _restore(self, folder: Path) -> None:
        """Write the tree of the commit to a folder.

        What git does not follow is linked to, as it is now: whether it has changed cannot be known.
        """
        index = str(folder.with_name("index"))
        (folder / ".git").mkdir(parents=True)  # here the project ends, as it does in the work tree
        git(self.top, "read-tree", self.commit, GIT_INDEX_FILE=index)
        git(
            self.top, "checkout-index", "--all", "--quiet", f"--prefix={folder}{os.sep}", GIT_INDEX_FILE=index
        )
        others = listed(self.top, "--others", "--ignored", "--exclude-standard", "--directory")
        if self.is_hook:
            others += listed(self.top, "--others", "--exclude-standard")
        for name in others:
            present, old = self.top / name, folder / name
            is_read = os.path.isdir(present) or present.suffix in (".py", ".yaml", ".yml")
            if is_read and present.name not in NEVER and not os.path.lexists(old):
                old.parent.mkdir(parents=True, exist_ok=True)
                old.symlink_to(present)

    def _before(self, top: Path, paths: Sequence[Path], settings: Settings) -> Counter[Identity]:
        """What is found in the restored tree, by today's settings."""
        there = [top / self._name(str(path)) for path in paths]
        there = [path for path in there if os.path.exists(path)]
        if not there:
            return Counter()
        base = settings.base
        if base.is_relative_to(self.top):
            base = top / base.relative_to(self.top)
        old_settings = replace(settings, base=base)
        files = FileSet.gather(there, old_settings)
        found = run(there, old_settings, file_set=files).findings
        return Counter(
            identities(found, files.source, lambda shown: os.path.relpath(os.path.abspath(shown), top))
        )

    def _name(self, shown: str) -> str:
        """The name in the repository of a file that messages name so."""
        path = Path(os.path.abspath(shown))
        return os.path.relpath(Path(os.path.realpath(path.parent), path.name), self.top)

    def _old_name(self, name: str) -> str:
        return self.changed.renamed.get(name, name)

    def _is_on_changed_line(self, finding: Finding, files: FileSet, top: Path) -> bool:
        """Whether a line of the finding's span was changed; of a function or class, its first line alone."""
        place, name = finding.place, self._name(finding.place.path)
        source = files.source(place.path)
        if name not in self.changed.files or source is None:
            return False
        try:
            old = decode(read_bytes(top / self._old_name(name))).split("\n")
        except Unusable:
            return True
        is_block = source.lines[place.line - 1].lstrip().startswith(("def ", "async def ", "class ", "@"))
        last = place.line if is_block else place.end_line
        return any(
            line in _changed_lines(tuple(old), tuple(source.lines)) for line in range(place.line, last + 1)
        )


@cache
def _changed_lines(old: tuple[str, ...], new: tuple[str, ...]) -> frozenset[int]:
    """The numbers of the lines that are not those of the old text."""
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    same = {block.b + at for block in blocks for at in range(block.size)}
    return frozenset(number + 1 for number in range(len(new)) if number not in same)
