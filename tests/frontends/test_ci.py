"""The action, and what the page on editors and CI makes people copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/editors-and-ci.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def action() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """The folders of a runner, with the check where the action installs it."""
    shutil.copytree(ROOT / "docs/example", tmp_path / "work")
    binary = tmp_path / "temp/onescience-check/bin/onescience-check"
    binary.parent.mkdir(parents=True)
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onescience_check "$@"\n')
    binary.chmod(0o755)
    return tmp_path


def check(action: dict[str, Any], runner: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action as the runner does."""
    step = action["runs"]["steps"][-1]
    given = {name: spec["default"] for name, spec in action["inputs"].items()} | inputs
    places = {f"inputs.{name}": value for name, value in given.items()} | {
        "runner.temp": str(runner / "temp")
    }

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: places[found[1]], text)

    assert "${{" not in step["run"], "what users write goes through the environment, never into the script"
    env = {name: filled(value) for name, value in step["env"].items()}
    env |= {"RUNNER_TEMP": str(runner / "temp"), "GITHUB_STEP_SUMMARY": str(runner / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=runner / "work",
        env=os.environ | env,
        capture_output=True,
        text=True,
    )


def test_the_action_marks_findings_and_fails(action: dict[str, Any], runner: Path) -> None:
    ended = check(action, runner, sarif="onescience.sarif")
    assert ended.returncode == 1, ended.stderr
    assert re.search("::error title=[^\n]*file=src/onescience/", ended.stdout)
    assert "input-is-parallel-mismatch" in (runner / "summary.md").read_text("utf-8")
    assert json.loads((runner / "work/onescience.sarif").read_text("utf-8"))["runs"]
    assert list((runner / "temp/onescience-check-answers").glob("*.answer"))


def test_the_action_takes_paths_options_and_a_revision(action: dict[str, Any], runner: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "-C", str(runner / "work")]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    ended = check(action, runner, **{"changed-since": "HEAD", "paths": "src setup.cfg"})
    assert ended.returncode in (0, 2) and "::error" not in ended.stdout
    ended = check(action, runner, paths="src", arguments="--select E73 --exit-zero")
    assert ended.returncode == 0 and "E7305" in ended.stdout and "E7102" not in ended.stdout
    ended = check(action, runner, paths="no$(touch hacked) ; `touch hacked`")
    assert ended.returncode == 2 and not list(runner.rglob("hacked"))


def test_what_is_copied_from_the_page_can_be_read() -> None:
    read = [yaml.safe_load(text) for text in blocks("yaml")]
    assert len(read) == 4 and all(isinstance(document, dict) for document in read)
    for text in blocks("json"):
        json.loads(text)
    for text in blocks("toml"):
        tomllib.loads(text)


def test_what_the_page_names_is_there(action: dict[str, Any]) -> None:
    github = yaml.safe_load(blocks("yaml")[0])
    used = github["jobs"]["onescience-check"]["steps"][-1]["with"]
    assert set(used) <= set(action["inputs"])
    helped = "".join(
        subprocess.run(
            [sys.executable, "-m", "onescience_check", name, "--help"],
            capture_output=True,
            text=True,
            env=os.environ | {"COLUMNS": "200"},
        ).stdout
        for name in ("check", "report", "server")
    )
    commands = [
        part
        for line in PAGE.splitlines()
        if "onescience-check" in line
        for part in re.findall(r" (--[a-z-]+)", line)
    ]
    assert commands
    assert not [name for name in commands if name not in helped and name not in ("--disable", "--enable")]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert yaml.safe_load(blocks("yaml")[3])["repos"][0]["hooks"][0]["id"] in hooks
