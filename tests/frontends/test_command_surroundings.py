"""The command as a shell starts it: odd streams, odd folders, standard input, what it prints for programs."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onescience_check.checkers.frontends import streams
from onescience_check.checkers.frontends.streams import visible
from onescience_check.checkers.rules import all_rules

COMMAND = f"'{sys.executable}' -m onescience_check"
BAD = """from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        return self.fc(x) + x
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "model.py").write_text(BAD)
    return tmp_path


def shell(line: str, folder: Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, **environment},
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (f"{COMMAND} >&-", 1, ""),
        (f"{COMMAND} >&- 2>&- <&-", 1, ""),
        (f"{COMMAND} >/dev/full", 2, "the result cannot be written: no space left on device"),
        (f"{COMMAND} rules >/dev/full", 2, "the result cannot be written: no space left on device"),
        (f"{COMMAND} report . >/dev/full", 2, "the result cannot be written: no space left on device"),
        (f"{COMMAND} 2>/dev/full missing", 2, ""),
        ("mkdir gone; cd gone; rmdir ../gone; " + COMMAND, 2, "the working folder cannot be used"),
        (
            "mkdir gone; cd gone; rmdir ../gone; " + f"{COMMAND} report",
            2,
            "the working folder cannot be used",
        ),
        (f"{COMMAND} {'x' * 5000}", 2, "no such file or folder"),
        (f"{COMMAND} report {'x' * 5000}", 2, "no such file or folder"),
        (f"{COMMAND} -", 2, "--stdin-filename PATH"),
        (f"{COMMAND} --exit-zero", 0, ""),
        (f"{COMMAND} --exit-zero missing", 2, "missing: no such file or folder"),
    ],
)
def test_one_line_and_the_right_exit_code(project: Path, line: str, code: int, said: str) -> None:
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = shell(line, project, COLUMNS="200")
    assert done.returncode == code
    assert said in done.stderr
    assert "internal error" not in done.stderr and "Traceback" not in done.stderr


def test_names_of_the_command_and_its_help(project: Path) -> None:
    version = shell(f"{COMMAND} --version", project)
    assert version.returncode == 0 and version.stdout.startswith("onescience-check ")
    assert shell(f"{COMMAND} -h", project).stdout == shell(f"{COMMAND} --help", project).stdout != ""
    assert "--statistics" in shell(f"{COMMAND} check -h", project).stdout


def test_quiet_prints_findings_alone(project: Path) -> None:
    assert "1 error" in shell(COMMAND, project).stdout
    quiet = shell(f"{COMMAND} -q", project).stdout
    assert "E7101" in quiet and "1 error" not in quiet
    (project / "model.py").write_text("")
    assert shell(f"{COMMAND} -q", project).stdout == ""


@pytest.mark.parametrize("name", ["model.py", "new.py"])
def test_standard_input_is_checked_in_place_of_a_file(project: Path, name: str) -> None:
    (project / "model.py").write_text("")
    done = shell(f"{COMMAND} - --stdin-filename {name} --format json", project, BAD)
    assert [finding["path"] for finding in json.loads(done.stdout)["findings"]] == [name]
    (project / "model.py").write_text(BAD)
    assert shell(f"{COMMAND} --stdin-filename model.py", project, "").returncode == 0


def test_settings_are_shown_as_they_can_be_written(project: Path) -> None:
    text = (
        "[onescience-check]\nprofile = guide\ntp = 2,4\nsequence-parallel = true\n"
        "providers =\n    a.B kind=column returns=tensor\n"
    )
    (project / "setup.cfg").write_text(text)
    shown = shell(f"{COMMAND} --show-settings --select E71", project)
    assert shown.returncode == 0
    for line in ("profile = guide", "tp = 2, 4", "sequence-parallel = true", "select = E71"):
        assert line in shown.stdout.splitlines()
    lines = [line for line in shown.stdout.splitlines() if not line.startswith("base =")]
    (project / "setup.cfg").write_text("\n".join(["[onescience-check]", *lines]))
    assert shell(f"{COMMAND} --show-settings", project).stdout == shown.stdout


def test_json_has_the_advice_and_the_columns_of_the_text(project: Path) -> None:
    (finding,) = json.loads(shell(f"{COMMAND} --format json", project).stdout)["findings"]
    text = shell(COMMAND, project).stdout
    assert f"  {finding['line']}:{finding['column']}  E7101" in text
    assert finding["advice"] in text
    line = BAD.splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 : finding["end_column"] - 1] == "self.fc(x)"


def test_what_steers_a_terminal_is_written_out(project: Path) -> None:
    key = "\\x1b]0;own\\x07\\n# head"
    (project / "setup.cfg").write_text("[onescience-check]\nprofile = guide\n")
    (project / "model.py").write_text(
        f'{BAD}        return getattr(self, "{key}")(x)\n'
        f'\n\nSTYLE_REGISTRY = {{"\\x1b[31mred": Block}}\n\n\n'
        "class OneBlock(nn.Module):\n    def __init__(self, style, **kwargs):\n        super().__init__()\n"
        "        self.block = STYLE_REGISTRY[style](**kwargs)\n\n\n"
        f"class User(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f'        self.block = OneBlock(style="{key}", dim=1, config=None)\n'
    )
    for line in (
        COMMAND,
        f"{COMMAND} --strict",
        f"{COMMAND} report .",
        f"{COMMAND} report . --format markdown",
    ):
        done = shell(line, project)
        assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr
        assert "\n# head" not in done.stdout
    assert "\\x1b" in shell(COMMAND, project).stdout


def test_visible_text() -> None:
    assert visible("盘古 `x` é") == "盘古 `x` é"
    assert visible("a\x1b[2J\nb\u202e\x85") == "a\\x1b[2J\\nb\\u202e\\x85"


def test_the_file_of_an_internal_error_is_new_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams.tempfile, "tempdir", str(tmp_path))
    said = [streams.internal_error(ValueError("odd\nthing")) for _ in range(2)]
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 2 and all(str(os.getpid()) not in path.name for path in kept)
    assert {line.rsplit(" ", 1)[-1] for line in said} == set(map(str, kept))
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    monkeypatch.setattr(streams.tempfile, "tempdir", str(tmp_path / "missing"))
    assert "please report it" in streams.internal_error(ValueError("odd"))


def test_explained_code_is_whole(project: Path) -> None:
    for rule in sorted(all_rules(), key=lambda rule: -max(map(len, rule.example("bad").splitlines())))[:3]:
        done = shell(f"{COMMAND} explain {rule.symbol}", project, COLUMNS="60")
        for kind, title in (("bad", "\nWrong\n"), ("good", "\nRight\n")):
            block = done.stdout.split(title)[1].split("\n\nRight\n")[0].split("\n\nLimits\n")[0]
            code = "\n".join(line.removeprefix("  ") for line in block.splitlines())
            assert code.strip() == rule.example(kind).strip()
            ast.parse(code)
        assert not [line for line in done.stdout.splitlines() if line.endswith(" ")]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_report_sends_no_control_characters(form: str, tmp_path: Path) -> None:
    (tmp_path / "\x1b[31m.py").symlink_to(".")
    said = shell(f"{COMMAND} report . --format {form}", tmp_path).stdout
    assert "[31m.py" in said and "\x1b" not in said
