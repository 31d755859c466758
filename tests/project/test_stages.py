"""Stage families, their originals and what their stages build."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.project.originals import Originals
from onescience_check.checkers.project.project import Project
from onescience_check.checkers.project.stages import Family, Stages
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.analysis import Analysis
from onescience_check.checkers.tpstate.stage_balance import balance

HEAD = "from megatron.core import parallel_state\nfrom torch import nn\n\n\n"
STAGE = """
class {name}(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        {body}

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return x
"""


def stage(name: str, body: str = "self.layer = nn.Linear(dim, dim)") -> str:
    return STAGE.format(name=name, body=body)


def project(folder: Path, **files: str) -> Project:
    (folder / "setup.cfg").write_text("")
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text)
    settings = Settings(base=folder)
    return Project(FileSet.gather([folder], settings), settings)


def families(found: Project) -> dict[str, Family]:
    return {family.name: family for family in found.knowledge(Stages).families}


def test_numbers_in_names_give_ranks_and_gaps(tmp_path: Path) -> None:
    found = families(project(tmp_path, sea=stage("Sea_stage0") + stage("SeaStage3") + stage("Sea_stage1")))
    sea = found["Sea"]
    assert [item.rank for item in sea.stages] == [0, 1, 3]
    assert (sea.gaps, sea.complete) == ([2], False)
    first, second, last = sea.stages
    assert first.is_first and last.is_last and not second.is_last
    assert first.following is second and second.following is None


def test_a_map_of_a_script_makes_a_family(tmp_path: Path) -> None:
    script = "from model import Back, Front\n\n\ndef build(rank):\n    return {0: Front, 1: Back}[rank]()\n"
    (family,) = families(project(tmp_path, model=stage("Front") + stage("Back"), train=script)).values()
    assert [(item.cls.name, item.rank) for item in family.stages] == [("Front", 0), ("Back", 1)]
    assert family.maps


def test_what_only_another_stage_builds_is_an_inner_module(tmp_path: Path) -> None:
    outer = stage("SeaStage", "self.inner = Trunk(dim)")
    found = project(tmp_path, sea=stage("Trunk") + outer)
    assert list(families(found)) == ["SeaStage"]
    assert [cls.name for cls in found.classes() if found.knowledge(Stages).is_inner(cls)] == ["Trunk"]


def test_stages_of_a_plain_network_are_no_pipeline_stages(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\nclass ResStage1(nn.Module):\n    def forward(self, x):\n        return x\n"
    )
    assert not families(project(tmp_path))


@pytest.mark.parametrize("folder", ["sea_distributed", "sea_distributed_4stage"])
def test_the_original_is_in_the_folder_without_the_suffix(tmp_path: Path, folder: str) -> None:
    plain = "class Sea(nn.Module):\n    def forward(self, x):\n        return x\n"
    files = {f"models__{folder}__sea": stage("Sea_stage0") + plain, "models__sea__sea": plain}
    found = project(tmp_path, **files)
    original = found.knowledge(Originals).of(families(found)["Sea"])
    assert original is not None and original.module.path == tmp_path / "models/sea/sea.py"


def test_a_deleted_original_is_none(tmp_path: Path) -> None:
    found = project(tmp_path, sea=stage("Sea_stage0") + stage("Sea_stage1"))
    assert found.knowledge(Originals).of(families(found)["Sea"]) is None


def test_balance_counts_multiplications_of_the_blocks(tmp_path: Path) -> None:
    block = (
        "class Fuser(nn.Module):\n"
        "    def __init__(self, dim, depth, num_heads=4, window_size=(1, 2, 2), input_resolution=(1, 4, 4)):\n"
        "        super().__init__()\n\n    def forward(self, x):\n        return x\n\n\n"
    )
    stages = stage("Sea_stage0", "self.a = Fuser(dim, depth=1)") + stage(
        "Sea_stage1", "self.b = Fuser(dim, depth=3)"
    )
    found = project(tmp_path, sea=block + stages)
    work = balance(Analysis(found), families(found)["Sea"])
    assert work is not None and work.is_estimate
    one_block = 16 * (12 * 64**2 + 2 * 4 * 64)  # tokens x (12 dim^2 + 2 window dim)
    assert [cost for _, cost in work.costs] == [one_block, 3 * one_block]
    assert work.deviation(work.costs[1][0]) == pytest.approx(0.5)
