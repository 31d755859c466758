"""Two rules that see the same fault: one of them speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("fixture", "symbol"),
    [
        ("per-rank-size-given/bad_heads_twice.py", "per-rank-size-given"),
        ("share-divided-again/bad_in_a_helper.py", "share-divided-again"),
    ],
)
def test_a_share_that_is_divided_again_is_one_finding(fixture: str, symbol: str) -> None:
    found = run([HERE / fixture], Settings()).findings
    assert [f.symbol for f in found if f.code in ("E7125", "E7128")] == [symbol]
