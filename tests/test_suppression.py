"""Comments switch findings off as Pylint would."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from pylint.lint import Run
from pylint.reporters.json_reporter import JSON2Reporter

from onescience_check.checkers.files.source import parse
from onescience_check.checkers.finding import Finding, Place
from onescience_check.checkers.suppression import split_suppressed

BLOCKS = '''"""Text."""
import torch


def first(a):
    bad(a)
    # pylint: disable={name}
    bad(a)
    if a:
        bad(a)
        # pylint: enable={name}
        bad(a)
    else:
        bad(a)
    bad(a)


def second(a):  # pylint: disable={name}
    bad(a)
    bad(
        a)


class Third:
    """Text."""
    # pylint: disable={name}

    def inside(self):
        bad(1)

    def other(self):  # pylint: enable={name}
        bad(2)


def fourth(a):
    # pylint: disable-next={name}
    bad(a)
    bad(a)
    bad(a)  # pylint: disable={name}
    bad(a)  # pylint: disable=unused-import,{name}; known
    for b in a:  # pylint: disable={name}
        bad(b)
    try:
        bad(a)  # noqa # pylint: disable={name}
    except ValueError:
        # pylint: disable={name}
        bad(a)
    finally:
        bad(a)
    bad(a)


@wraps
def fifth(
    a,  # pylint: disable={name}
):
    bad(a)
'''
PLUGIN = """
from pylint.checkers import BaseChecker

class Bad(BaseChecker):
    name = "onescience"
    msgs = {"E7101": ("bad", "bad-call", "bad")}

    def visit_call(self, node):
        if node.func.as_string() == "bad":
            self.add_message("bad-call", node=node)

def register(linter):
    linter.register_checker(Bad(linter))
"""


def lines_by_pylint(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    (path.parent / "bad_call_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(path.parent))
    output = io.StringIO()
    options = ["--load-plugins=bad_call_plugin", "--disable=all", "--enable=bad-call", "--rcfile=", str(path)]
    Run(options, reporter=JSON2Reporter(output), exit=False)
    messages = json.loads(output.getvalue())["messages"]
    return [message["line"] for message in messages if message["symbol"] == "bad-call"]


def lines_by_us(path: Path) -> list[int]:
    file = parse(path, str(path), path.read_bytes())
    found = [
        Finding(Place(str(path), number, 0, number, 3), "E7101", "bad-call", "bad")
        for number, line in enumerate(file.lines, 1)
        if "bad(" in line
    ]
    kept, suppressed = split_suppressed(found, {str(path): file}.get)
    assert sorted(kept + suppressed, key=lambda finding: finding.sort_key) == found
    return [finding.place.line for finding in kept]


@pytest.mark.parametrize(
    "text",
    [
        BLOCKS.format(name="bad-call"),
        BLOCKS.format(name="E7101"),
        BLOCKS.format(name="E"),
        BLOCKS.format(name="onescience"),
        BLOCKS.format(name="no-such-message"),
        BLOCKS.replace('"""Text."""\n', '"""Text."""\n# pylint: disable={name}\n', 1).format(name="bad-call"),
        "bad(1)\n# pylint: skip-file\nbad(2)\n",
        "bad(1)\n# pylint: disable=all\nbad(2)\n",
        "bad(1)\n# pylint: nonsense\nbad(2)  # pylint: disable=\n",
        'bad("# pylint: disable=bad-call")\n',
        "bad(1)  # not pylint\n",
    ],
)
def test_same_lines_as_pylint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "checked.py"
    path.write_text(text)
    assert lines_by_us(path) == lines_by_pylint(path, monkeypatch)


def test_a_comment_really_switches_off(tmp_path: Path) -> None:
    path = tmp_path / "checked.py"
    path.write_text("bad(1)\nbad(2)  # pylint: disable=bad-call\n")
    assert lines_by_us(path) == [1]
