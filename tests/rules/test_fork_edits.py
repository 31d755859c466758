"""Edits are made for the copy of Megatron that the tree has."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

BAD = Path(__file__).parent / "stage-checkpoint-methods-missing/bad.py"
HELPER = (
    "def make_sharded_tensors_for_checkpoint(state_dict, prefix, axes=None, sharded_offsets=()%s):\n    ...\n"
)


@pytest.mark.parametrize(("more", "has_groups"), [("", False), (", tp_group=None, dp_cp_group=None", True)])
def test_the_saver_is_given_what_it_takes(tmp_path: Path, more: str, has_groups: bool) -> None:
    folder = tmp_path / "fork/megatron/core/transformer"
    folder.mkdir(parents=True)
    for part in (folder, *folder.parents[:3]):
        (part / "__init__.py").write_text("")
    (folder / "utils.py").write_text(HELPER % more)
    (tmp_path / "model.py").write_text(BAD.read_text().replace("from megatron", "from fork.megatron"))
    found = run([tmp_path], Settings(framework=("fork.megatron",))).findings
    [fix] = [f.fix for f in found if f.symbol == "stage-checkpoint-methods-missing"]
    assert fix is not None
    text = "".join(edit.text for edit in fix.edits)
    assert "sharded_offsets" in text and ("tp_group=" in text) == has_groups == ("parallel_state" in text)
