"""Whatever lies in a tree, each file that cannot be read gets one clear line and the others are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onescience_check.checkers.files import disk
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.files.source import Unusable, parse
from onescience_check.checkers.settings import Settings

GOOD = "from megatron.core.tensor_parallel import ColumnParallelLinear\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "good.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gather(path: Path) -> FileSet:
    return FileSet.gather([path], Settings())


def nested(kind: str, depth: int = 2000) -> str:
    return {
        "brackets": "(" * depth + ")" * depth,
        "lists": "[" * depth + "]" * depth,
        "minus": "-" * depth + "1",
        "sum": "+".join("1" * depth),
        "attributes": "x" + ".a" * depth,
        "calls": "f" + "()" * depth,
        "elif": "if a: pass\n" + "elif a: pass\n" * depth,
        "blocks": "".join(" " * i + "if a:\n" for i in range(depth)) + " " * depth + "pass",
        "lines": "x = (1\n" + " + 1\n" * depth + ")",
        "lambda": "lambda: " * depth + "1",
        "match": "match a:\n case " + "[" * depth + "]" * depth + ": pass",
    }[kind]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"ColumnParallelLinear\ndef f(:\n", "syntax error at line 2"),
        (b"if a:\n\tColumnParallelLinear\n        b\n", "syntax error at line 3"),
        (b"x = 1 # ColumnParallelLinear\n\0", "NUL bytes"),
        (GOOD.encode("utf-16"), "NUL bytes"),
        (b"\n\nx = '\xff'", "not UTF-8: line 3; save it as UTF-8"),
        (b"# coding: no-such\nColumnParallelLinear", "unknown source encoding"),
        (b"# coding: ascii\nColumnParallelLinear = '\xe9'", "not ASCII: line 2"),
        (b"x = 1 # ColumnParallelLinear\n" * 2_000_000, "larger than 8 MB"),
    ],
)
def test_each_unusable_file_gets_one_line_and_the_rest_is_read(tree: Path, data: bytes, reason: str) -> None:
    (tree / "bad.py").write_bytes(data)
    found = gather(tree)
    assert [skip.path for skip in found.skipped] == ["bad.py"]
    assert reason in found.skipped[0].reason and "\n" not in found.skipped[0].reason
    assert [file.display for file in found.files] == ["good.py"]
    assert found.seen == 2 and not found.unusable
    assert gather(tree / "bad.py").unusable == found.skipped


@pytest.mark.parametrize(
    "kind",
    "brackets lists minus sum attributes calls elif blocks lines lambda match".split(),
)
def test_deep_nesting_is_skipped(tree: Path, kind: str) -> None:
    (tree / "deep.py").write_text(GOOD + nested(kind))
    (skip,) = gather(tree).skipped
    assert skip.path == "deep.py"
    assert "nested" in skip.reason or "syntax error" in skip.reason or "too many" in skip.reason


@pytest.mark.parametrize("kind", ["sum", "attributes", "elif", "lines", "calls"])
def test_ordinary_nesting_is_read(tree: Path, kind: str) -> None:
    (tree / "deep.py").write_text(GOOD + nested(kind, 60))
    assert not gather(tree).skipped


@pytest.mark.parametrize(
    "data",
    [
        GOOD.replace("\n", "\r\n").encode() * 2,
        GOOD.replace("\n", "\r").encode() * 2,
        b"\xef\xbb\xbf" + GOOD.encode(),
        b"# coding: gb18030\nColumnParallelLinear = '" + "盘古".encode("gb18030") + b"'\n",
        b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nColumnParallelLinear = '\xe9'\n",
        b"if a:\n\tColumnParallelLinear\n\tb\n",
        b"ColumnParallelLinear = '\\d'\n",
    ],
)
def test_unusual_text_is_read(tree: Path, data: bytes) -> None:
    (tree / "unusual.py").write_bytes(data)
    found = gather(tree)
    assert not found.skipped
    (file,) = (file for file in found.files if file.display == "unusual.py")
    assert "\r" not in file.text and not file.text.startswith("\ufeff")


def test_columns_count_characters(tree: Path) -> None:
    file = parse(tree / "x.py", "x.py", "盘 = '古'; f(盘)\n".encode())
    place = file.place(file.tree.body[1])
    assert (place.line, place.column, place.end_column) == (1, 9, 13)


def test_links(tree: Path) -> None:
    outside = tree.parent / f"{tree.name}-outside"
    outside.mkdir()
    (outside / "data.py").write_text(GOOD)
    package = tree / "package"
    package.mkdir()
    (package / "self.py").symlink_to(package / "self.py")
    (package / "broken.py").symlink_to("nowhere.py")
    (package / "again.py").symlink_to(tree / "good.py")
    (package / "up").symlink_to(tree)
    (package / "data").symlink_to(outside)
    (package / "linked.py").symlink_to(outside / "data.py")
    found = gather(tree)
    assert {skip.path: skip.reason for skip in found.skipped} == {
        "package/self.py": "symbolic link loop",
        "package/broken.py": "broken symbolic link",
        "package/up": "symbolic link loop",
        "package/data": "symbolic link to a folder outside the tree: name that folder to check it",
    }
    assert [file.display for file in found.files] == ["good.py", "package/linked.py"]
    assert gather(package / "broken.py").unusable[0].reason == "broken symbolic link, or a loop of links"


def test_a_pipe_is_never_opened(tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")
    assert gather(tree).seen == 1
    assert gather(tree / "pipe.py").unusable[0].reason == "not a file or folder"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "unreadable: permission denied"),
        (FileNotFoundError(2, "No such file or directory"), "unreadable: no such file or directory"),
        (OSError(5, "Input/output error"), "unreadable: input/output error"),
    ],
)
def test_unreadable_and_vanished_files(
    tree: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str
) -> None:
    (tree / "bad.py").write_text(GOOD)

    def failing(path: Path, *rest: str, **options: Any) -> object:
        if Path(path).name == "bad.py":
            raise error
        return open(path, *rest, **options)

    monkeypatch.setattr(disk, "open", failing, raising=False)
    found = gather(tree)
    assert [(skip.path, skip.reason) for skip in found.skipped] == [("bad.py", reason)]
    assert [file.display for file in found.files] == ["good.py"]


def test_paths_without_python(tree: Path) -> None:
    (tree / "empty").mkdir()
    found = FileSet.gather([tree / "empty", tree / "missing", tree / "good.py"], Settings())
    assert [(skip.path, skip.reason) for skip in found.unusable] == [
        ("empty", "no Python files"),
        ("missing", "no such file or folder"),
    ]
    assert found.targets == {tree / "good.py"}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_no_bytes_make_the_reader_fail(data: bytes) -> None:
    try:
        file = parse(Path("x.py"), "x.py", data)
    except Unusable as reason:
        assert str(reason)
    else:
        assert file.tree.body is not None
