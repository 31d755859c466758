"""What a change brings: findings on its lines, and those that it causes elsewhere.

The tree as it was is written to a folder of its own, for the time of the run, and checked there as the present one is.
So no finding is missed because the change that causes it stands in another file, and the work tree stays untouched.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..files.discovery import FileSet
from ..files.source import Unusable, checked, decode
from ..files.walk import NEVER
from ..finding import Finding, Result
from ..language import tr
from ..settings import Settings, SettingsError
from .before import found_before
from .git import Changed, GitFailed, changed_since, commit_of, git, listed, top_of
from .identity import identities

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
        try:
            names = [self._name(str(path)) for path in paths]
            before = found_before(self.top, self.commit, self._unfollowed(), names, settings, self.changed)
        except GitFailed as error:
            raise SettingsError(tr("changed-since: git says: %(text)s", text=error)) from None
        owns = identities(result.findings, files.source, lambda shown: self._old_name(self._name(shown)))
        kept = []
        for finding, own in zip(result.findings, owns, strict=True):
            is_old = before[own] > 0
            before[own] -= is_old
            if not is_old or self._is_on_changed_line(finding, files):
                kept.append(finding)
        undecided = [f for f in result.undecided if self._is_on_changed_line(f, files)]
        return replace(result, findings=kept, undecided=undecided, older=len(result.findings) - len(kept))

    def _unfollowed(self) -> list[str]:
        """What git does not follow and a run could read: whether it has changed cannot be known."""
        others = listed(self.top, "--others", "--ignored", "--exclude-standard", "--directory")
        if self.is_hook:
            others += listed(self.top, "--others", "--exclude-standard")
        found = []
        for name in others:
            present = self.top / name
            is_read = os.path.isdir(present) or present.suffix in (".py", ".yaml", ".yml")
            if is_read and present.name not in NEVER:
                found.append(name.rstrip("/"))
        return found

    def _name(self, shown: str) -> str:
        """The name in the repository of a file that messages name so."""
        path = Path(os.path.abspath(shown))
        return os.path.relpath(Path(os.path.realpath(path.parent), path.name), self.top)

    def _old_name(self, name: str) -> str:
        return self.changed.renamed.get(name, name)

    def _is_on_changed_line(self, finding: Finding, files: FileSet) -> bool:
        """Whether a line of the finding's span was changed; of a function or class, its first line alone."""
        place, name = finding.place, self._name(finding.place.path)
        source = files.source(place.path)
        if name not in self.changed.files or source is None:
            return False
        old = _text(self.top, self.commit, self._old_name(name))
        if old is None:
            return True
        is_block = source.lines[place.line - 1].lstrip().startswith(("def ", "async def ", "class ", "@"))
        last = place.line if is_block else place.end_line
        return any(line in _changed_lines(old, tuple(source.lines)) for line in range(place.line, last + 1))


@cache
def _text(top: Path, commit: str, name: str) -> tuple[str, ...] | None:
    """The lines that a file of a commit had, as a checkout writes them; None where there was none to read."""
    try:
        return tuple(decode(checked(git(top, "cat-file", "--filters", f"{commit}:{name}"))).split("\n"))
    except (GitFailed, Unusable):
        return None


@cache
def _changed_lines(old: tuple[str, ...], new: tuple[str, ...]) -> frozenset[int]:
    """The numbers of the lines that are not those of the old text."""
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    same = {block.b + at for block in blocks for at in range(block.size)}
    return frozenset(number + 1 for number in range(len(new)) if number not in same)
