"""What lies around the checked files, pipes and patterns among it, neither stops a run nor holds it up."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.files.walk import is_ignored, patterns
from onescience_check.checkers.settings import Settings

GOOD = "from megatron.core.tensor_parallel import ColumnParallelLinear\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("where", ["", "above"])
@pytest.mark.parametrize("name", [".gitignore", "setup.cfg", "pyproject.toml", "train.sh"])
def test_a_pipe_under_the_name_of_a_settings_file_is_passed_over(
    tmp_path: Path, name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "below"
    folder.mkdir()
    (tmp_path / ".git").mkdir()
    (folder / "model.py").write_text(GOOD)
    os.mkfifo((tmp_path if where else folder) / name)
    monkeypatch.chdir(folder)
    found = FileSet.gather([Path()], Settings())
    assert [file.display for file in found.files] == ["model.py"]


@pytest.mark.parametrize("line", ["[z-a]", "[[a]", "***", "!", "\\", "[", "a\\"])
def test_an_odd_pattern_leaves_the_others(line: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rules = patterns("/top", (line, "build/"))
    assert is_ignored("/top/build", rules, folder=True)


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("*a" * 14, "a" * 250 + "c", False),
        ("*a" * 14, "a" * 250, True),
        ("*[ab]" * 14 + "z", "ab" * 120, False),
        ("?*a*b*c", "xxabbc", True),
        ("*.*.*.py", "a.b.c.d.py", True),
        ("a*b*/c*d*e*", "aXbbX/cXddXe", True),
        ("/x**y*y*z", "xyyyz", True),
        ("/x**y*y*z", "xy/yyz", False),
        ("**/a/" * 14 + "b", "a/" * 40 + "c.py", False),
        ("**/a/" * 14 + "b", "a/" * 40 + "b", True),
        ("a/**/" * 14 + "b", "a/" * 40 + "c.py", False),
        ("a/**/b*/**/c*d/**/e", "a/x/bb/cd/y/cxd/z/e", True),
        ("a/**/b/c/**/d/**/e", "a/b/x/b/c/d/e", True),
        ("a/**/b/c/**/d/**/e", "a/b/x/c/d/e", False),
    ],
)
def test_many_stars_are_matched_at_once(line: str, name: str, expected: bool) -> None:
    began = time.process_time()
    assert is_ignored(f"/top/{name}", patterns("/top", (line,))) is expected
    assert time.process_time() - began < 2


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "big5", "shift_jis", "euc_jp", "cp1252", "latin-1"])
def test_comments_of_pylint_count_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = "été" if encoding in ("cp1252", "latin-1") else "中文"
    source = f"""# -*- coding: {encoding} -*-
# {text}
{GOOD}from torch import nn


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        y = self.fc(x)
        z = y + x
        return y + x  # {text} pylint: disable=parallel-linear-tuple-used
"""
    (tmp_path / "model.py").write_bytes(source.encode(encoding))
    (tmp_path / "setup.cfg").write_text("")
    result = run([tmp_path], Settings(select=("parallel-linear-tuple-used",)))
    assert [finding.place.line for finding in result.findings] == [14]
    assert [finding.place.line for finding in result.suppressed] == [15]


@pytest.mark.parametrize("uid_is_known", [True, False])
def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid_is_known: bool) -> None:
    monkeypatch.delenv("HOME", raising=False)
    if not uid_is_known:
        monkeypatch.setattr(os, "getuid", lambda: 987654)
    (tmp_path / "model.py").write_text(GOOD)
    assert len(FileSet.gather([tmp_path], Settings()).files) == 1


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    found = FileSet.gather([tmp_path / ("x" * 5000)], Settings())
    assert [skip.reason for skip in found.unusable] == ["no such file or folder"]
