"""What was found in a commit is kept: a second look at the same change runs nothing of it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.cache import store, trace
from onescience_check.checkers.cache.answer import answer, answer_before
from onescience_check.checkers.history import before
from onescience_check.checkers.history.changes import Change
from onescience_check.checkers.settings import Settings

from .test_changes import FAULT, HEAD, TAIL, Git, git, lines, new

__all__ = ["git"]
HELPER = "from torch import nn\n\n\nclass Output(nn.Module):\n    pass\n"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The runs over restored trees; what they find is kept."""
    real, ran = before._run, []
    monkeypatch.setenv(store.VARIABLE, str(tmp_path_factory.mktemp("kept")))
    monkeypatch.setattr(before, "_run", lambda *given: ran.append(given) or real(*given))
    return ran


def test_the_same_commit_is_looked_at_once(git: Git, tmp_path: Path, runs: list[object]) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    first = lines(new(tmp_path))
    assert first and len(runs) == 1
    assert lines(new(tmp_path)) == first and len(runs) == 1
    (tmp_path / "model.py").write_text(HEAD + "\n" + FAULT + FAULT + TAIL)
    again = lines(new(tmp_path))
    assert again != first and len(runs) == 1
    git("commit", "-am", "two")
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + FAULT + TAIL)
    assert len(lines(new(tmp_path))) == 2 and len(runs) == 2


def test_a_file_that_git_does_not_follow_is_looked_at_again(
    git: Git, tmp_path: Path, runs: list[object]
) -> None:
    (tmp_path / ".gitignore").write_text("helper.py\n")
    (tmp_path / "user.py").write_text((tmp_path / "user.py").read_text().replace("from model", "from helper"))
    (tmp_path / "helper.py").write_text(HEAD + TAIL)
    git("add", ".")
    git("commit", "-m", "two")
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    first = lines(new(tmp_path))
    assert lines(new(tmp_path)) == first and len(runs) == 1
    (tmp_path / "helper.py").write_text(HELPER)
    assert lines(new(tmp_path)) == first and len(runs) == 2
    (tmp_path / "other").mkdir()
    (tmp_path / ".gitignore").write_text("helper.py\nother\n")
    (tmp_path / "other/x.py").write_text(HELPER)
    new(tmp_path)
    assert len(runs) == 3


def test_what_is_kept_and_cannot_be_read_is_found_again(git: Git, tmp_path: Path, runs: list[object]) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    first = lines(new(tmp_path))
    for path in store.folder().glob("*.answer"):
        path.write_bytes(b"broken")
    assert lines(new(tmp_path)) == first and len(runs) == 2


CHANGES: list[Callable[[Path, Git], object]] = [
    lambda tree, git: (tree / "model.py").write_text(HEAD + FAULT + FAULT + TAIL),
    lambda tree, git: (tree / "model.py").write_text(HEAD + FAULT + "        return self.proj(x)\n"),
    lambda tree, git: (tree / "added.py").write_text(HEAD + FAULT + TAIL),
    lambda tree, git: (tree / "user.py").unlink(),
    lambda tree, git: git("mv", "model.py", "net.py"),
    lambda tree, git: (tree / "user.py").write_text(""),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_run_over_the_tree_as_it_was_has_found_is_not_found_again(
    git: Git,
    tmp_path: Path,
    runs: list[object],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[..., object],
) -> None:
    monkeypatch.setattr(trace, "_SETTLED", 0)
    settings = Settings(base=tmp_path, profile="universal")
    asked = [tmp_path]
    answer(asked, settings)
    change(tmp_path, git)
    for index in range(2):  # two runs since: the state before is still remembered
        (tmp_path / "other.py").write_text(HEAD + f"        # {index}\n" + TAIL)
        found = answer(asked, settings)
    now = Change.since("HEAD", asked)
    narrowed = now.narrowed(found.result, found.files, asked, settings)
    assert not runs
    monkeypatch.setattr(before, "_seen_before", lambda *_: None)
    for path in store.folder().glob("*.answer"):
        path.unlink()
    assert now.narrowed(found.result, found.files, asked, settings) == narrowed
    assert len(runs) == 1


def test_a_tree_that_was_never_checked_as_it_was_is_restored(
    git: Git, tmp_path: Path, runs: list[object]
) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    settings = Settings(base=tmp_path, profile="universal")
    found = answer([tmp_path], settings)
    change = Change.since("HEAD", [tmp_path])
    assert len(change.narrowed(found.result, found.files, [tmp_path], settings).findings) == 1
    assert len(runs) == 1


@pytest.mark.parametrize("is_deleted", [False, True])
def test_another_name_of_a_changed_file_is_not_taken_for_the_file_as_it_was(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, runs: list[object], is_deleted: bool
) -> None:
    alias = tmp_path_factory.mktemp("beside") / "alias"
    alias.symlink_to(tmp_path)
    if is_deleted:
        (tmp_path / "user.py").unlink()
    else:
        (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    settings = Settings(base=alias, profile="universal")
    answer([alias], settings)
    assert (
        answer_before([alias], settings, {tmp_path / ("user.py" if is_deleted else "model.py"): b""}) is None
    )
    assert answer_before([alias], settings, {}) is not None
