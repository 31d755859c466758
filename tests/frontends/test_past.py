"""The command with a baseline, with ignored files, and with a revision to compare with."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pylint.lint import Run as Pylint
from pylint.reporters.json_reporter import JSONReporter

from onescience_check.checkers.frontends.cli import main

FAULT = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.proj(x))
"""
RIGHT = FAULT.replace("(x))\n", "(x)[0])\n")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    for name in [name for name in os.environ if name.startswith(("GIT_", "PRE_COMMIT"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "disable", lambda: None)  # the command's process ends, this one goes on
    (tmp_path / "setup.cfg").write_text("[onescience-check]\nprofile = universal\n")
    (tmp_path / "model.py").write_text(FAULT)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onescience-check", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfd.readouterr()
        return int(end.value.code or 0), out, err

    return call


def test_accepted_findings_are_counted_and_not_shown(command: Run) -> None:
    assert command()[0] == 1
    code, out, _ = command("baseline")
    assert (code, out) == (
        0,
        ".onescience-check-baseline.json: 1 finding accepted, 1 of them new; 0 no longer found.\n",
    )
    code, out, _ = command()
    assert code == 0
    assert "E7101" not in out and "1 finding not shown: accepted by the baseline.\n" in out
    assert json.loads(command("--format", "json")[1])["accepted"] == 1
    assert command("--no-baseline")[0] == 1


def test_a_stale_entry_is_shown_fails_when_asked_and_is_removed(command: Run, tmp_path: Path) -> None:
    command("baseline")
    (tmp_path / "model.py").write_text(RIGHT)
    entry = "  model.py: parallel-linear-tuple-used in Output.forward: return self.drop(self.proj(x))\n"
    code, out, _ = command()
    assert code == 0 and entry in out and "1 entry of the baseline no longer found" in out
    assert command("--strict-baseline")[0] == 1
    code, out, _ = command("baseline", "--update")
    assert code == 0 and out.startswith("no longer found: model.py: parallel-linear-tuple-used")
    assert command("--strict-baseline")[0] == 0


def test_an_update_accepts_nothing_new(command: Run, tmp_path: Path) -> None:
    command("baseline")
    (tmp_path / "other.py").write_text(FAULT)
    assert "1 finding accepted; 0 no longer found." in command("baseline", "--update")[1]
    code, out, _ = command()
    assert code == 1 and "other.py\n" in out and "model.py\n" not in out


def test_a_baseline_that_cannot_be_used_is_named(command: Run, tmp_path: Path) -> None:
    (tmp_path / ".onescience-check-baseline.json").write_text("{")
    code, _, err = command()
    assert code == 2 and "is no baseline" in err
    assert command("--no-baseline")[0] == 1


def test_the_file_of_the_baseline_can_be_chosen(command: Run, tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("[onescience-check]\nbaseline = accepted.json\n")
    command("baseline")
    assert (tmp_path / "accepted.json").is_file()
    assert command()[0] == 0


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("old/**: E71", 0),
        ("old/: parallel-linear-tuple-used", 0),
        ("old/*.py: W, E7101", 0),
        ("old/**: W", 1),
        ("new/**: E71", 1),
        ("*.py: E71\n    !old/*: E71", 0),
    ],
)
def test_rules_are_ignored_in_files_by_pattern(command: Run, tmp_path: Path, rows: str, code: int) -> None:
    (tmp_path / "model.py").unlink()
    (tmp_path / "old").mkdir()
    (tmp_path / "old/model.py").write_text(FAULT)
    (tmp_path / "setup.cfg").write_text(
        f"[onescience-check]\nprofile = universal\nper-file-ignores =\n    {rows}\n"
    )
    assert command()[0] == code


def test_ignored_files_in_toml_and_names_that_are_not_there(command: Run, tmp_path: Path) -> None:
    table = '[tool.onescience-check.per-file-ignores]\n"*.py" = ["E71"]\n'
    (tmp_path / "pyproject.toml").write_text(table)
    assert command()[0] == 0
    (tmp_path / "pyproject.toml").write_text(table.replace("E71", "E99"))
    code, _, err = command()
    assert code == 2 and "per-file-ignores: no rule is called 'E99'" in err
    (tmp_path / "pyproject.toml").write_text("[tool.onescience-check]\nper-file-ignores = 'tests'\n")
    code, _, err = command()
    assert code == 2 and "write one pattern a line, as in: tests/**: E71,W7103" in err


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_what_changed_since_a_revision(command: Run, tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    code, out, _ = command("--changed-since", "HEAD")
    assert (code, out) == (0, "Nothing has changed.\n")
    (tmp_path / "other.py").write_text(FAULT)
    code, out, _ = command("--changed-since", "HEAD")
    assert code == 1 and "other.py\n" in out and "model.py\n" not in out
    assert "1 finding not shown: older than the change.\n" in out
    assert json.loads(command("--changed-since", "HEAD", "--format", "json")[1])["older"] == 1


def test_a_revision_that_is_not_there(command: Run, tmp_path: Path) -> None:
    git(tmp_path, "init")
    code, out, err = command("--changed-since", "main")
    assert code == 2 and not out and "nothing is committed yet" in err


def test_pylint_leaves_out_what_is_accepted(command: Run, tmp_path: Path) -> None:
    command("baseline")
    (tmp_path / "other.py").write_text(FAULT)
    options = ["--load-plugins=onescience_check.checkers", "--disable=all", "--enable=onescience"]
    reporter = JSONReporter()
    Pylint([*options, "model.py", "other.py"], reporter=reporter, exit=False)
    assert [(message.module, message.symbol) for message in reporter.messages] == [
        ("other", "parallel-linear-tuple-used")
    ]
