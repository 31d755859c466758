"""`--help` of every command, and `explain placements`, in both languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rich.cells import cell_len
from typer.main import get_command

from onescience_check.checkers.frontends.cli import app
from onescience_check.checkers.frontends.lesson import placements
from onescience_check.checkers.language import catalog

GROUP: Any = get_command(app)
CHINESE = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"\b(?!rank\b|flight\b)[a-z]{3,} [a-z]{2,}\b")
"""Two plain words in a row: a sentence that was not translated."""


def said(*arguments: str, locale: str = "C.UTF-8", columns: int = 80) -> str:
    env = os.environ | {"LC_ALL": locale, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "onescience_check", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=env, check=True, encoding="utf-8"
    ).stdout


def helps() -> Iterator[tuple[str, str]]:
    """Every text of help, with where it is from."""
    yield from (("", GROUP.help), ("", GROUP.epilog))
    for name, command in GROUP.commands.items():
        yield name, command.help
        for param in command.params:
            if param.name != "help":
                assert param.param_type_name == "argument" or param.is_flag or param.metavar, param.name
                yield f"{name} {param.name}", param.help


@pytest.mark.parametrize(
    ("place", "text"), list(helps()), ids=lambda value: value if value and len(value) < 30 else ""
)
def test_every_command_and_option_has_help_in_both_languages(place: str, text: str) -> None:
    assert text and text.strip(), place
    for part in text.split("\n\n"):
        assert CHINESE.search(catalog("zh").get(" ".join(part.split()), "")), f"{place}: {part}"


@pytest.mark.parametrize("name", ["", *GROUP.commands])
def test_help_is_wholly_in_the_language_of_the_reader(name: str) -> None:
    arguments = [name] if name else []
    english = said(*arguments, "--help")
    assert not CHINESE.search(english) and english.startswith("Usage: onescience-check")
    asked = said(*arguments, "--help", "--lang", "zh")
    assert asked == said(*arguments, "-h", locale="zh_CN.UTF-8") == said(*arguments, "--help", "--lang=zh")
    assert english == said(*arguments, "--help", "--lang", "en", locale="zh_CN.UTF-8")
    assert CHINESE.search(asked)
    plain = re.sub(r"`[^`]*`|pip install \S+|onescience-check \w+|--\S+ \S+", "", asked)
    assert not ENGLISH.findall(plain)
    options = (
        [opt for param in GROUP.commands[name].params for opt in param.opts if opt[0] == "-"] if name else []
    )
    assert all(option in english and option in asked for option in options)


@pytest.mark.parametrize("columns", [40, 60, 200])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_stays_within_the_terminal(language: str, columns: int) -> None:
    for name in ("check", "verify"):
        text = said(name, "--help", "--lang", language, columns=columns)
        assert max(map(cell_len, text.splitlines())) <= columns


def test_what_stands_behind_two_hyphens_is_for_the_script() -> None:
    from onescience_check.checkers.frontends.lang import asks_for_help

    assert not asks_for_help(["verify", "train.py", "--", "--help"])
    assert asks_for_help(["verify", "train.py", "-h", "--", "--tp"])


def test_the_page_of_placements_says_the_same_in_both_languages() -> None:
    english, chinese = placements("en"), placements("zh")
    assert said("explain", "placements", "--lang", "zh") == chinese
    assert said("explain", "placements") == english
    for mark in (r"(?m)^#", r"(?m)^\|", r"(?m)^```$"):
        assert len(re.findall(mark, english)) == len(re.findall(mark, chinese))
    rules = re.compile(r"[EW]\d{4}")
    assert rules.findall(english) == rules.findall(chinese)
    assert not ENGLISH.findall(
        re.sub(r"`[^`]*`|(?s:```.*?```)", "", chinese).replace("own tokens", "").replace("all tokens", "")
    )
    prose = ["".join(text.split("```")[::2]) for text in (english, chinese)]
    assert set(re.findall(r"`([^`]+)`", prose[0])) == set(re.findall(r"`([^`]+)`", prose[1]))
