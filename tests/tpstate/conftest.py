"""Small source trees for the tests of the interpreter, and what is found in them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.project.project import Project
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.analysis import Analysis
from onescience_check.checkers.tpstate.events import ParallelCall
from onescience_check.checkers.tpstate.values import Tensor

HEAD = """\
import functools
import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn
"""
# COLUMN(a, b) and so on stand for the whole call, so that the trees below stay short.
_SHORT = {
    "COLUMN": "ColumnParallelLinear({}, config=config, init_method=config.init_method, gather_output=False)",
    "GATHERED": "ColumnParallelLinear({}, config=config, init_method=config.init_method, gather_output=True)",
    "SPLIT_ROW": "RowParallelLinear({}, config=config, init_method=config.init_method, bias=True, input_is_parallel=True, skip_bias_add=False)",  # noqa: E501
    "FULL_ROW": "RowParallelLinear({}, config=config, init_method=config.init_method, bias=True, input_is_parallel=False, skip_bias_add=False)",  # noqa: E501
}
WRONG = ("E7101", "E7102", "E7104", "E7105", "E7113", "E7115", "E7117", "E7118", "W7114", "W7119")

Tree = str | dict[str, str]


class Trees:
    """Writes a tree below `folder`; a name that starts with `HEAD ` gets the usual imports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, tree: Tree) -> None:
        files = {"HEAD model.py": tree} if isinstance(tree, str) else tree
        (self.folder / "setup.cfg").write_text("")
        for name, text in files.items():
            path = self.folder / name.removeprefix("HEAD ")
            path.parent.mkdir(parents=True, exist_ok=True)
            head = HEAD if name.startswith("HEAD ") else ""
            path.write_text(head + expanded(textwrap.dedent(text)), "utf-8")

    def check(self, tree: Tree, **settings: object) -> None:
        """The decided findings of the wiring rules are the lines that end in `# [symbol]`, and no others."""
        self.write(tree)
        result = run([self.folder], Settings(profile="guide", base=self.folder, **settings))  # type: ignore[arg-type]
        assert not result.skipped
        found = sorted((f.place.path, f.place.line, f.symbol) for f in result.findings if f.code in WRONG)
        assert found == self.marked()

    def marked(self) -> list[tuple[str, int, str]]:
        found = []
        for path in sorted(self.folder.rglob("*.py")):
            for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
                if marker := re.search(r"#.*\[([a-z, -]+)\]\s*$", line):
                    symbols = [name.strip() for name in marker[1].split(",")]
                    found += [(path.relative_to(self.folder).as_posix(), number, name) for name in symbols]
        return sorted(found)

    def states(self, tree: Tree) -> set[str]:
        """The TP states in which values reach the layers held as `probe`."""
        self.write(tree)
        settings = Settings(profile="guide", base=self.folder)
        analysis = Analysis(Project(FileSet.gather([self.folder], settings), settings))
        assert not analysis.log.failed
        given = [
            e.given for e in analysis.log.events if isinstance(e, ParallelCall) and e.layer.name == "probe"
        ]
        return {value.state.name.lower() if isinstance(value, Tensor) else "no tensor" for value in given}


def expanded(text: str) -> str:
    return re.sub(
        r"\b(COLUMN|GATHERED|SPLIT_ROW|FULL_ROW)\(([^()]*)\)", lambda m: _SHORT[m[1]].format(m[2]), text
    )


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trees:
    monkeypatch.chdir(tmp_path)
    return Trees(tmp_path)


@pytest.fixture
def check(trees: Trees) -> Callable[..., None]:
    return trees.check


@pytest.fixture
def states(trees: Trees) -> Callable[[Tree], set[str]]:
    return trees.states
