"""The plugin prints what the command prints, on the right node, however Pylint is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "docs/example"
MLP = "src/onescience/modules/mlp/zephyrdistributedmlp.py"
COMMAND = "from onescience_check.checkers.frontends.cli import main; main()"
FUSER = "src/onescience/modules/fuser/zephyrdistributedfuser.py"
Where = tuple[str, int, int, str]


@pytest.fixture(scope="module", autouse=True)
def torch_is_empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pylint reads whatever torch is installed, for seconds a run; the rules need none of it."""
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "torch/nn").mkdir(parents=True)
    for package in ("torch", "torch/nn"):
        (folder / package / "__init__.py").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the example to change."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="module")
def expected() -> list[Where]:
    """What the command finds in the example."""
    found = by_command(EXAMPLE, ".")
    assert len(found) >= 3
    return found


def start(tree: Path, *arguments: str, text: str | None = None) -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        input=text,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in process.stderr, process.stderr
    document: dict[str, Any] = json.loads(process.stdout)
    return document


def by_command(tree: Path, *paths: str) -> list[Where]:
    return places(start(tree, "-c", COMMAND, "--format", "json", *paths)["findings"])


def by_pylint(tree: Path, *arguments: str, text: str | None = None) -> list[dict[str, Any]]:
    options = [
        "--load-plugins=onescience_check.checkers",
        "--disable=all",
        "--enable=onescience",
        "--rcfile=",
    ]
    messages: list[dict[str, Any]] = start(
        tree, "-m", "pylint", *options, "--output-format=json2", *arguments, text=text
    )["messages"]
    return messages


def places(messages: list[dict[str, Any]]) -> list[Where]:
    """In order. One place may have several findings of a rule, such as two missing methods of a class.

    Pylint counts columns from 0, the command from 1.
    """
    return sorted(
        (found["path"], found["line"], found["column"] - ("id" in found), found["symbol"])
        for found in messages
    )


@pytest.mark.parametrize(
    "arguments", [["src"], ["-j", "2", "src/onescience/modules", "src/onescience/models"]]
)
def test_same_findings_as_the_command(expected: list[Where], arguments: list[str]) -> None:
    assert places(by_pylint(EXAMPLE, "--recursive=y", *arguments)) == expected


def test_a_single_file_is_understood_as_in_the_tree(expected: list[Where]) -> None:
    """That `mix` gets a full input is known only from the stage, in another file."""
    wanted = {found for found in expected if found[0] == FUSER and found[3] == "input-is-parallel-mismatch"}
    assert wanted
    assert wanted <= set(places(by_pylint(EXAMPLE, FUSER)))
    assert wanted <= set(by_command(EXAMPLE, FUSER))


def test_the_message_is_on_the_innermost_node() -> None:
    (message,) = by_pylint(EXAMPLE, MLP)
    assert message["obj"] == "ZephyrDistributedMlp.forward"
    assert message["messageId"] == "E7101"
    line = (EXAMPLE / MLP).read_text().split("\n")[message["line"] - 1]
    assert line[message["column"] : message["endColumn"]] in ("self.act(x)", "x", "self.fc1(x)")
    assert "fc1" in message["message"]


def test_comments_switch_messages_off(tree: Path) -> None:
    path = tree / MLP
    path.write_text(
        path.read_text().replace("self.act(x)", "self.act(x)  # pylint: disable=parallel-linear-tuple-used")
    )
    assert by_command(tree, MLP) == []
    assert by_pylint(tree, "--enable=useless-suppression", MLP) == []


def test_text_from_an_editor_stands_over_the_file(tree: Path) -> None:
    text = (tree / MLP).read_text()
    repaired = text.replace("x = self.fc1(x)", "x, _ = self.fc1(x)")
    assert by_pylint(tree, "--from-stdin", MLP, text=repaired) == []
    (tree / MLP).write_text(repaired)
    assert len(by_pylint(tree, "--from-stdin", MLP, text=text)) == 1


def test_ignored_files_that_pylint_is_given_are_checked(tree: Path) -> None:
    (tree / ".gitignore").write_text("mlp/\n")
    assert len(by_pylint(tree, MLP)) == 1


def test_settings_that_cannot_be_used_are_said_once(tree: Path) -> None:
    (tree / "setup.cfg").write_text("[onescience-check]\nprofil = guide\n")
    (message,) = by_pylint(tree, "--recursive=y", "src")
    assert message["symbol"] == "onescience-check-failed"
    assert "unknown key 'profil'" in message["message"]


def test_the_options_of_pylint_win() -> None:
    (message,) = by_pylint(EXAMPLE, "--onescience-tp=two", MLP)
    assert "onescience-tp: write sizes" in message["message"]
