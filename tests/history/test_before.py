"""What was found in a commit is kept: a second look at the same change runs nothing of it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.cache import store
from onescience_check.checkers.history import before

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
