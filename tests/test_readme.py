"""What the READMEs show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
READMES = ("README.md", "README.zh-CN.md")
COMMAND = "from onescience_check.checkers.frontends.cli import main; main()"


@pytest.fixture(scope="module")
def report() -> str:
    """What the first command of the READMEs prints."""
    return printed("en")


def printed(language: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", COMMAND, "docs/example", "--lang", language],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    return process.stdout


@pytest.mark.parametrize(("name", "language"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_finding_shown_is_a_real_one(name: str, language: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    shown = re.search(r"<!-- finding -->\n```text\n(.+?)```\n<!-- /finding -->", text, re.DOTALL)
    assert shown is not None
    assert shown[1] in printed(language)


def test_both_languages_give_the_same_commands() -> None:
    commands = [
        re.findall(
            r"^(?:python3|pip|onescience-check|pylint) [^#\n]*",
            (ROOT / name).read_text("utf-8"),
            re.MULTILINE,
        )
        for name in READMES
    ]
    assert commands[0]
    assert [line.strip() for line in commands[0]] == [line.strip() for line in commands[1]]


def test_both_languages_have_the_same_parts() -> None:
    """Headings, blocks of code, tables and their rows, options: what one has, the other has."""
    shapes = [
        re.findall(r"^(#+ |```\w*|\| `[^`]+`)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        for name in READMES
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_links_and_folders_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for target in re.findall(r"\]\(([\w.-]+)\)|`((?:docs|tests|checkers|\.ci)[\w./-]*)`", text):
        path = "".join(target)
        assert (ROOT / path).exists(), path


def test_each_kind_of_fault_in_the_example_is_found(report: str) -> None:
    assert "tuple-used" in report
    assert report.count("input-is-parallel-mismatch") >= 2
