"""Accepted findings are left out, whatever moves; what is new is shown, and what is gone is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.history.baseline import Baseline, covered, shown, write_baseline
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings, SettingsError

SYMBOLS = {rule.symbol for rule in all_rules()}
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


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(HEAD + FAULT + TAIL)
    return tmp_path


def look(tree: Path) -> tuple[list[Finding], FileSet, Baseline]:
    settings = Settings(base=tree, profile="universal")
    files = FileSet.gather([tree], settings)
    return run([tree], settings, file_set=files).findings, files, Baseline.of(settings)


def accept(tree: Path) -> None:
    found, files, baseline = look(tree)
    write_baseline(baseline, found, files, covered(baseline, [tree], files, SYMBOLS))


def outcome(tree: Path) -> tuple[int, int, list[str]]:
    """New and accepted findings, and stale entries that this run can speak of."""
    found, files, baseline = look(tree)
    new, accepted, left = baseline.split(found, files)
    is_covered = covered(baseline, [tree], files, SYMBOLS)
    return len(new), len(accepted), [shown(entry, baseline) for entry in left if is_covered(entry)]


def git(tree: Path, *arguments: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=tree, check=True, capture_output=True)


def test_without_a_baseline_everything_is_new(tree: Path) -> None:
    assert outcome(tree) == (1, 0, [])


def test_what_is_accepted_is_left_out_and_what_is_new_is_not(tree: Path) -> None:
    accept(tree)
    assert outcome(tree) == (0, 1, [])
    (tree / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    assert outcome(tree) == (1, 1, [])


def test_code_may_move_and_be_laid_out_anew(tree: Path) -> None:
    accept(tree)
    moved = (
        HEAD.replace("import nn", "import nn\n\nSIZE = 1")
        + FAULT.replace("(self.proj(x))", "( self.proj(x) )")
        + TAIL
    )
    (tree / "model.py").write_text(moved)
    assert outcome(tree) == (0, 1, [])


def test_a_fault_that_is_mended_leaves_a_stale_entry(tree: Path) -> None:
    accept(tree)
    (tree / "model.py").write_text(HEAD + TAIL)
    stale = "model.py: parallel-linear-tuple-used in Output.forward: x=self.drop(self.proj(x))"
    assert outcome(tree) == (0, 0, [stale])
    (tree / "model.py").unlink()
    (tree / "other.py").write_text("")
    assert outcome(tree) == (0, 0, [stale])


def test_a_file_that_git_knows_to_be_renamed_keeps_its_entries(tree: Path) -> None:
    git(tree, "init")
    git(tree, "add", ".")
    git(tree, "commit", "-m", "one")
    accept(tree)
    git(tree, "mv", "model.py", "net.py")
    assert outcome(tree) == (0, 1, [])
    git(tree, "commit", "-m", "two")
    assert outcome(tree) == (0, 1, [])
    accept(tree)
    assert '"net.py"' in (tree / ".onescience-check-baseline.json").read_text()


def test_a_file_that_git_does_not_know_is_another_file(tree: Path) -> None:
    accept(tree)
    (tree / "model.py").rename(tree / "net.py")
    new, accepted, stale = outcome(tree)
    assert (new, accepted, len(stale)) == (1, 0, 1)


def test_a_run_over_a_part_neither_misses_nor_drops_the_rest(tree: Path) -> None:
    (tree / "part").mkdir()
    (tree / "part/other.py").write_text(HEAD + FAULT + TAIL)
    accept(tree)
    settings = Settings(base=tree, profile="universal")
    (tree / "part/other.py").write_text(HEAD + TAIL)
    (tree / "model.py").write_text(HEAD + TAIL)
    files = FileSet.gather([tree / "part"], settings)
    found, baseline = run([tree / "part"], settings, file_set=files).findings, Baseline.of(settings)
    is_covered = covered(baseline, [tree / "part"], files, SYMBOLS)
    _, _, left = baseline.split(found, files)
    assert [entry.path for entry in left if is_covered(entry)] == ["part/other.py"]
    write_baseline(baseline, found, files, is_covered)
    assert [entry.path for entry in Baseline.of(settings).entries] == ["model.py"]


def test_a_file_that_cannot_be_read_makes_nothing_stale(tree: Path) -> None:
    accept(tree)
    (tree / "model.py").write_text(HEAD + "def\n")
    assert outcome(tree) == (0, 0, [])


def test_rules_that_do_not_run_make_nothing_stale(tree: Path) -> None:
    accept(tree)
    found, files, baseline = look(tree)
    assert found
    is_covered = covered(baseline, [tree], files, SYMBOLS - {"parallel-linear-tuple-used"})
    assert not [entry for entry in baseline.entries if is_covered(entry)]


def test_the_file_has_a_line_for_each_entry(tree: Path) -> None:
    (tree / "model.py").write_text(HEAD + FAULT + FAULT + TAIL)
    accept(tree)
    text = (tree / ".onescience-check-baseline.json").read_text()
    assert text.count('"parallel-linear-tuple-used"') == 1 and '"count": 2' in text
    accept(tree)
    assert (tree / ".onescience-check-baseline.json").read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no baseline"),
        ("[]", "is no baseline"),
        ('{"version": 1, "findings": {"a.py": [{}]}}', "is no baseline"),
        ('{"version": 9, "findings": {}}', "written by another version"),
    ],
)
def test_a_file_that_is_no_baseline_is_named(tree: Path, text: str, said: str) -> None:
    (tree / ".onescience-check-baseline.json").write_text(text)
    with pytest.raises(SettingsError, match=rf"baseline.json: {said}"):
        Baseline.of(Settings(base=tree))
