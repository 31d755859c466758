"""Where a run contradicts what reading takes a layer's input for, `verify` says that it is a fault of this tool."""

from pathlib import Path

import pytest

from onescience_check.checkers.frontends.verify_command import _contradicted, _hold_costs
from onescience_check.checkers.frontends.verify_words import LABELS
from onescience_check.checkers.report.target import Target
from onescience_check.runtime.verify.results import Result, StageFigures

EXAMPLE = Path(__file__).parents[2] / "reference_models/examples/earth/pangu_weather_distributed_4stage"
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


def _costs(shares: list[float]) -> Result:
    return Result(
        "shapes", "2x4", figures=[StageFigures(n, 1, 1, 1, 1, share=s) for n, s in enumerate(shares)]
    )


def test_the_work_by_reading_stands_beside_the_traced_one() -> None:
    """Reading halves the blocks over two ranks, and keeps patch embedding and recovery whole."""
    result = _costs([1.08, 0.77, 0.77, 1.38])
    _hold_costs(result, EXAMPLE / "train.py", tp=2)
    assert result.facts == {"of the mean, by reading": "111%, 79%, 79%, 131%"}


def test_where_reading_and_trace_disagree_it_is_said() -> None:
    result = _costs([1.0, 1.0, 1.0, 1.0])
    _hold_costs(result, EXAMPLE / "train.py", tp=2)
    [(name, apart)] = [pair for pair in result.facts.items() if "disagree" in pair[0]]
    assert apart == "stage 1: 79%, traced 100%; stage 2: 79%, traced 100%; stage 3: 131%, traced 100%"
    assert name in LABELS
