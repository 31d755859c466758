"""`onescience-check fix`: what it prints, its exit codes, the patch."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.frontends.cli import main

FORGOTTEN = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, skip_bias_add=False
        )
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.proj(x))
"""
PAIR = FORGOTTEN.replace("(x))\n", "(x)[0])\n")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "disable", lambda: None)  # the command's process ends, this one goes on
    (tmp_path / "setup.cfg").write_text("[onescience-check]\nprofile = guide\n")
    (tmp_path / "model.py").write_text(FORGOTTEN)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onescience-check", "fix", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfd.readouterr()
        return int(end.value.code or 0), out, err

    return call


def test_safe_edits_are_made_and_the_rest_is_named(fix: Run, tmp_path: Path) -> None:
    code, out, err = fix()
    assert (code, err) == (0, "")
    assert out == (
        "model.py: parallel-linear-tuple-used\n"
        "Fixed 1 finding in 1 file.\n"
        "1 finding left, 1 of them with an edit that needs a reader (--unsafe; --diff shows it).\n"
    )
    assert (tmp_path / "model.py").read_text() == PAIR


def test_unsafe_edits_are_made_when_asked(fix: Run, tmp_path: Path) -> None:
    code, out, _ = fix("--unsafe")
    assert code == 0
    assert out.endswith("Fixed 2 findings in 1 file.\n")
    assert "gather_output=" in (tmp_path / "model.py").read_text()


def test_a_second_run_says_that_nothing_is_to_do(fix: Run) -> None:
    fix("--unsafe")
    assert fix("--unsafe") == (0, "Fixed 0 findings in 0 files.\n", "")


def test_only_the_selected_rules(fix: Run, tmp_path: Path) -> None:
    code, out, _ = fix("--unsafe", "--select", "W7103")
    assert code == 0 and "input-is-parallel-implicit" in out
    assert "[0]" not in (tmp_path / "model.py").read_text()


def test_an_unknown_name_is_refused(fix: Run) -> None:
    code, _, err = fix("--select", "E99")
    assert code == 2 and "no rule is called 'E99'" in err


def test_check_writes_nothing_and_fails_where_something_is_to_do(fix: Run, tmp_path: Path) -> None:
    code, out, _ = fix("--check")
    assert code == 1 and "Would fix 1 finding in 1 file.\n" in out
    assert (tmp_path / "model.py").read_text() == FORGOTTEN
    fix()
    assert fix("--check")[0] == 0


@pytest.mark.parametrize("text", [FORGOTTEN, FORGOTTEN.rstrip("\n"), FORGOTTEN.replace("\n", "\r\n")])
def test_the_diff_is_a_patch(fix: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "model.py").write_bytes(text.encode())
    code, out, err = fix("--diff")
    assert code == 0 and "Would fix 1 finding" in err
    assert (tmp_path / "model.py").read_bytes() == text.encode()
    patch = subprocess.run(
        ["git", "apply", "--verbose", "-"], input=out.encode(), capture_output=True, cwd=tmp_path
    )
    assert patch.returncode == 0, patch.stderr.decode()
    patched = (tmp_path / "model.py").read_bytes()
    (tmp_path / "model.py").write_bytes(text.encode())
    fix()
    assert (tmp_path / "model.py").read_bytes() == patched


def test_a_file_that_cannot_be_written_is_named(fix: Run, tmp_path: Path) -> None:
    (tmp_path / "model.py").chmod(0o400)
    code, out, _ = fix()
    assert code == 2
    assert "model.py:14: parallel-linear-tuple-used is left as it is: model.py is read-only\n" in out


@pytest.mark.parametrize("path", ["none.py", "broken.py"])
def test_a_path_that_cannot_be_checked_fails_and_the_others_are_repaired(
    fix: Run, tmp_path: Path, path: str
) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    code, _, err = fix("model.py", path)
    assert code == 2 and path in err
    assert (tmp_path / "model.py").read_text() == PAIR
