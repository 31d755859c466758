"""`--changed-since`: findings on changed lines, and those that a change causes elsewhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.history.changes import Change
from onescience_check.checkers.settings import Settings, SettingsError

HEAD = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
"""
FAULT = "        x = self.drop(self.proj(x))\n"
TAIL = "        return x\n"
USER = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from model import Output
from torch import nn


class User(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = Output(dim, config)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(self.inner(x))
"""
Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    for name in [name for name in os.environ if name.startswith(("GIT_", "PRE_COMMIT"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, folder: Path = tmp_path) -> str:
        names = (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        )
        done = subprocess.run(
            ["git", *names, *arguments], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout

    call("init")
    (tmp_path / "model.py").write_text(HEAD + FAULT + TAIL)
    (tmp_path / "user.py").write_text(USER)
    call("add", ".")
    call("commit", "-m", "one")
    return call


def new(tree: Path, revision: str = "HEAD", *paths: str) -> list[Finding]:
    given = [tree / path for path in paths] or [tree]
    settings = Settings(base=tree, profile="universal")
    change = Change.since(revision, given)
    files = FileSet.gather(given, settings)
    return change.narrowed(run(given, settings, file_set=files), files, given, settings).findings


def lines(found: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.place.path, finding.place.line) for finding in found]


def test_nothing_changed(git: Git, tmp_path: Path) -> None:
    assert new(tmp_path) == []
    assert not Change.since("HEAD", [tmp_path]).changed.files


def test_a_fault_that_only_moved_is_old(git: Git, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("# more\n" + HEAD + FAULT + TAIL)
    assert new(tmp_path) == []


def test_a_fault_beside_an_old_one_is_new(git: Git, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + "        x = self.drop(self.proj(x + 1))\n" + TAIL)
    assert lines(new(tmp_path)) == [("model.py", 13)]


def test_an_old_fault_on_a_changed_line_is_shown(git: Git, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT.replace("x = ", "x  =  ") + TAIL)
    assert lines(new(tmp_path)) == [("model.py", 12)]


def test_a_fault_that_a_change_causes_in_another_file(git: Git, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + "        return self.proj(x)\n")
    assert lines(new(tmp_path)) == [("user.py", 13)]


def test_new_files_and_renamed_ones(git: Git, tmp_path: Path) -> None:
    (tmp_path / "added.py").write_text(HEAD + FAULT + TAIL)
    git("mv", "model.py", "net.py")
    (tmp_path / "user.py").write_text(USER.replace("from model", "from net"))
    assert lines(new(tmp_path)) == [("added.py", 12)]


def test_neither_files_nor_index_are_touched(git: Git, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    git("add", ".")
    (tmp_path / "user.py").write_text(USER + "\n")
    before = git("status", "--porcelain=v2"), (tmp_path / ".git/index").read_bytes()
    names = set(tmp_path.iterdir())
    assert new(tmp_path)
    assert (git("status", "--porcelain=v2"), (tmp_path / ".git/index").read_bytes()) == before
    assert set(tmp_path.iterdir()) == names


def test_what_a_branch_changed_since_it_left_another(git: Git, tmp_path: Path) -> None:
    git("switch", "-c", "side")
    (tmp_path / "side.py").write_text(HEAD + FAULT + TAIL)
    git("add", ".")
    git("commit", "-m", "side")
    git("switch", "main")
    (tmp_path / "model.py").write_text(HEAD + TAIL)
    git("commit", "-am", "mended on main")
    git("switch", "side")
    assert lines(new(tmp_path, "main")) == [("side.py", 12)]


def test_from_a_folder_inside(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part/more.py").write_text(HEAD + FAULT + TAIL)
    monkeypatch.chdir(tmp_path / "part")
    assert lines(new(tmp_path / "part")) == [("more.py", 12)]


def test_files_that_git_ignores_are_no_change(git: Git, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("vendored/\n")
    git("add", ".")
    git("commit", "-m", "ignore")
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored/base.py").write_text(HEAD + "        return self.proj(x)\n")
    (tmp_path / "user.py").write_text(USER.replace("model", "vendored.base"))
    git("commit", "-am", "use it")
    (tmp_path / "user.py").write_text(USER.replace("model", "vendored.base") + "\n\nSIZE = 1\n")
    assert new(tmp_path) == []


def test_before_the_first_commit_everything_is_new(tmp_path: Path, git: Git) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git("init", folder=fresh)
    (fresh / "model.py").write_text(HEAD + FAULT + TAIL)
    assert lines(new(fresh)) == [("fresh/model.py", 12)]


def test_the_hook_looks_at_what_git_follows(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch.py").write_text(HEAD + FAULT + TAIL)
    (tmp_path / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    assert lines(new(tmp_path, "pre-commit")) == [("model.py", 13)]
    git("commit", "-am", "two")
    assert new(tmp_path, "pre-commit") == []
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    assert lines(new(tmp_path, "pre-commit")) == [("model.py", 13)]


def test_a_shallow_clone_says_what_to_do(git: Git, tmp_path: Path) -> None:
    git("commit", "--allow-empty", "-m", "two")
    git("clone", "--depth", "1", f"file://{tmp_path}", "shallow")
    with pytest.raises(SettingsError, match=r"no revision 'HEAD~1'; this clone is shallow: .*fetch-depth: 0"):
        Change.since("HEAD~1", [tmp_path / "shallow"])


@pytest.mark.parametrize("revision", ["nope", "--help", ""])
def test_a_revision_that_is_not_there_is_named(git: Git, tmp_path: Path, revision: str) -> None:
    with pytest.raises(SettingsError, match="changed-since: there is no revision"):
        Change.since(revision, [tmp_path])


def test_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SettingsError, match="not in a git repository"):
        Change.since("HEAD", [tmp_path])


def test_without_git(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SettingsError, match="git cannot be run"):
        Change.since("HEAD", [tmp_path])
