"""A verdict does not depend on the names of the folders above."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings


@pytest.mark.parametrize("above", ["plain", "with-hyphen", "3d/model", "deep/with-hyphen/inner"])
def test_relative_imports_are_found_below_any_folder(
    tmp_path: Path, above: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / above / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "onefuser.py").write_text(
        "from .icedistributedfuser import IceDistributedFuser\n\n"
        '_FUSER_REGISTRY = {"IceDistributedFuser": IceDistributedFuser}\n\n\nclass OneFuser:\n    pass\n'
    )
    (folder / "icedistributedfuser.py").write_text(
        "from .onefuser import OneFuser\n\n\nclass IceDistributedFuser(OneFuser):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    found = run([Path()], Settings()).findings
    assert "distributed-import-cycle" in {finding.symbol for finding in found}
