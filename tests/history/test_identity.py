"""A finding is known again by its rule, its function and its line of code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from onescience_check.checkers.files.source import SourceFile
from onescience_check.checkers.finding import Finding, Place
from onescience_check.checkers.history.identity import Identity, identity, qualified_name

CODE = """\
import a
class Net(
    Base):
    size = 1

    @decorated
    def forward(self, x):
        if x:
            for y in x:
                def inner():
                    return y
        try:
            pass
        except ValueError:
            async def late(): return 2
        match x:
            case 1:
                def chosen(): return 3
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (1, ""),
        (2, "Net"),
        (4, "Net"),
        (6, "Net.forward"),
        (8, "Net.forward"),
        (11, "Net.forward.inner"),
        (15, "Net.forward.late"),
        (18, "Net.forward.chosen"),
        (99, ""),
    ],
)
def test_the_name_around_a_line(line: int, name: str) -> None:
    assert qualified_name(ast.parse(CODE), line) == name


def known(text: str, line: int) -> Identity:
    source = SourceFile(Path("/a.py"), "a.py", text, ast.parse(text))
    return identity(Finding(Place("a.py", line, 0, line, 1), "E7101", "pair-used", "text"), source, "a.py")


def test_layout_and_place_do_not_count() -> None:
    assert known("y = f(x,  1)\n", 1) == known("\n\ny=f( x, 1 )\n", 3)
    assert known("y = not x\n", 1) != known("y = notx\n", 1)


def test_the_function_around_counts() -> None:
    assert known("def a():\n    f(x)\n", 2) != known("def b():\n    f(x)\n", 2)


def test_a_finding_behind_the_end_of_a_file_has_an_identity() -> None:
    assert known("", 5) == Identity("a.py", "pair-used", "", "")
