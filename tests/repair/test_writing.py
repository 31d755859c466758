"""Writing several files: each one whole, and all of them or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onescience_check.checkers.repair.writing import why_not_written, write_all


def test_files_are_written_over_what_was_judged(tmp_path: Path) -> None:
    one = tmp_path / "one.py"
    one.write_bytes(b"1")
    assert write_all({one: b"1"}, {one: b"11"}) == {}
    assert one.read_bytes() == b"11"


@pytest.mark.parametrize("now", [b"somebody's", None])
def test_what_is_no_longer_what_was_judged_stays(tmp_path: Path, now: bytes | None) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_bytes(b"1")
    if now is not None:
        two.write_bytes(now)
    assert set(write_all({one: b"1", two: b"2"}, {one: b"11", two: b"22"})) == {two}
    assert one.read_bytes() == b"1"
    assert two.exists() == (now is not None)


def test_what_is_not_there_is_not_written(tmp_path: Path) -> None:
    assert "cannot be reached" in why_not_written(tmp_path / "none.py")


def test_all_files_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("1")
    two.write_text("2")
    real = os.replace

    def replace(source: str, target: Path) -> None:
        if target == two:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    failed = write_all({one: b"1", two: b"2"}, {one: b"11", two: b"22"})
    assert failed == {two: "cannot be written: no space left on device"}
    assert (one.read_text(), two.read_text()) == ("1", "2")
    assert {path.name for path in tmp_path.iterdir()} == {"one.py", "two.py"}
