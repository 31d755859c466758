"""A wrapper that builds a module by its style is known wherever it lies, in a run over one file, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check import check

FILES = {
    "onelab/modules/onepart.py": """
from torch import nn
from .icedistributedgrouping import IceDistributedGrouping

_PART_REGISTRY = {"IceDistributedGrouping": IceDistributedGrouping}


class OnePart(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.part = _PART_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.part(*args, **kwargs)
""",
    "onelab/modules/icedistributedgrouping.py": """
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceDistributedGrouping(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, obj, mask=None):
        if mask is None:
            return None
        x, _ = self.fc(obj["x"])
        return x * mask
""",
    "onelab/modules/icedistributedfuser.py": """
from torch import nn
from onelab.modules.onepart import OnePart


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.grouping = OnePart(style="IceDistributedGrouping", dim=dim, config=config)
        self.act = nn.GELU()

    def forward(self, obj):
        mask = obj.get("mask")
        if mask is not None:
            mask = mask.float()
        x = self.grouping(obj, mask=mask)
        return self.act(x)
""",
}


@pytest.mark.parametrize("part", ["onelab", "onelab/modules/icedistributedfuser.py"])
def test_one_file_alone_gives_what_the_tree_gives(part: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    (tmp_path / "setup.cfg").write_text("[onescience-check]\nprofile = guide  # a comment behind a value\n")
    found = check(str(tmp_path / "src" / part), select=["E7314"], is_cached=False).findings
    assert [(Path(finding.place.path).name, finding.place.line) for finding in found] == [
        ("icedistributedfuser.py", 17)
    ]
