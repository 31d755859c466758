"""Where a run contradicts what reading takes a layer's input for, `verify` says that it is a fault of this tool."""

from pathlib import Path

import pytest

from onescience_check.checkers.frontends.verify_command import _contradicted
from onescience_check.checkers.report.target import Target

MLP = """from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class MixDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        made = dict(config=config, init_method=config.init_method)
        self.up = ColumnParallelLinear(dim, 4 * dim, gather_output=False, **made)
        self.down = RowParallelLinear(4 * dim, dim, input_is_parallel=True, bias=True, skip_bias_add=False, **made)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x, _ = self.up(self.norm(x))
        return self.down(x)[0]
"""
UP, DOWN = 9, 10


@pytest.mark.parametrize(
    ("up", "down", "lines"),
    # What the first layer is given, reading cannot tell: nothing is contradicted.
    [("whole", "split", []), ("whole", "whole", [DOWN]), ("split", "split", [])],
)
def test_a_run_that_contradicts_reading_is_said(tmp_path: Path, up: str, down: str, lines: list[int]) -> None:
    file = tmp_path / "mixdistributedmlp.py"
    file.write_text(MLP)
    notes = _contradicted({f"{file}:{UP}": up, f"{file}:{DOWN}": down}, Target(file))
    assert [int(note.split(": ")[0].rpartition(":")[2]) for note in notes] == lines
    assert all("a fault of this tool" in note for note in notes)
