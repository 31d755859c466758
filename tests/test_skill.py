"""What the skill for coding agents tells them to type is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "skills/onescience-check").glob("*.md"))
COMMAND = "from onescience_check.checkers.frontends.cli import main; main()"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    commands = re.findall(r"onescience-check ([a-z]+) ([^`\n]*)", page.read_text("utf-8"))
    assert {name for name, _ in commands} >= {"check", "fix", "verify", "report", "diagnose", "explain"}
    for name in {name for name, _ in commands}:
        words = [sys.executable, "-c", COMMAND, name, "--help"]
        ran = subprocess.run(words, capture_output=True, text=True, check=True)
        options = set(re.findall(r"--[a-z-]+", " ".join(rest for other, rest in commands if other == name)))
        assert not {option for option in options if option not in ran.stdout}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_of_a_finding_are_those_that_are_printed(page: Path) -> None:
    text = page.read_text("utf-8")
    words = set(re.findall(r"`([a-z]+)`", text[text.index("--format agent") : text.index("explain SYMBOL")]))
    assert len(words) > 7
    code = (ROOT / "checkers/frontends/formats/agent.py").read_text("utf-8")
    assert words == set(re.findall(r'f"([a-z]+): ', code)) - {"unread"} | {"at"}


def test_folders_of_the_right_example_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`((?:pangu|xihe)\w*)`", page.read_text("utf-8")):
            assert (ROOT / "reference_models/models" / name).is_dir()
