"""What is said of the files asked about does not depend on whether findings elsewhere are wanted, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import examine, room
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.settings import Settings

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
FILES = sorted(EXAMPLE.rglob("*distributed*.py"))[:2] + sorted(EXAMPLE.rglob("*train*.py"))[:1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_others_get_said_changes_nothing(path: Path) -> None:
    found = []
    for beside in (False, True):
        settings = Settings(profile="guide", base=EXAMPLE)
        files = FileSet.gather([path], settings)
        files.beside = beside
        with room():
            found.append(examine(files, settings).result)
    assert found[0] == found[1]
