"""`from onescience_check import check`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onescience_check import Finding, Result, SettingsError, check

EXAMPLE = Path(__file__).parents[2] / "docs/example"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_finds_what_the_command_finds(tree: Path) -> None:
    found = check()
    assert isinstance(found, Result) and isinstance(found.findings[0], Finding)
    ended = subprocess.run([sys.executable, "-m", "onescience_check"], capture_output=True, text=True)
    for finding in found.findings:
        assert (
            f"{finding.place.line}:{finding.place.column + 1}  {finding.code} {finding.symbol}"
            in ended.stdout
        )
    assert found.findings == check(tree, jobs=2).findings == check("src").findings


def test_what_is_given_wins(tree: Path) -> None:
    assert {finding.code[:3] for finding in check(select=["E71"]).findings} == {"E71"}
    assert not [finding for finding in check(ignore=["E71"]).findings if finding.code.startswith("E71")]
    path = "src/onescience/modules/fuser/zephyrdistributedfuser.py"
    assert not check(path, edited={path: "x = 1\n"}).findings
    assert not check("new.py", edited={"new.py": b"x = 1\n"}).findings


def test_the_baseline_is_used_if_wanted(tree: Path) -> None:
    subprocess.run([sys.executable, "-m", "onescience_check", "baseline"], check=True, capture_output=True)
    found = check()
    assert not found.findings and found.accepted == check(use_baseline=False).findings


def test_what_cannot_be_done_is_an_error(tree: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check("nowhere")
    for wrong in ({"select": ["E8"]}, {"profile": "mine"}, {"changed_since": "HEAD"}):
        with pytest.raises(SettingsError):
            check(**wrong)


def test_the_names_are_those_that_are_documented() -> None:
    import onescience_check

    for name in onescience_check.__all__:
        assert getattr(onescience_check, name).__name__ == name
    with pytest.raises(AttributeError):
        onescience_check.nothing  # noqa: B018
