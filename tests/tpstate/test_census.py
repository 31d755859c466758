"""The figures of the summary add up."""

from __future__ import annotations

from pathlib import Path

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

TEXT = """from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(8, 32, config=config, init_method=init, gather_output=False)
        self.down = RowParallelLinear(
            32, 8, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.spare = RowParallelLinear(
            32, 8, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        x, _ = self.up(x)
        x, _ = self.down(x)
        return x
"""


def test_a_row_layer_that_no_call_was_followed_of_is_an_undecided_input(tmp_path: Path) -> None:
    (tmp_path / "mlp.py").write_text(TEXT)
    found = run([tmp_path], Settings(base=tmp_path)).summary
    assert (found.parallel_layers, found.row_layers) == (3, 2)
    assert (found.inputs_decided, found.inputs_undecided) == (1, 1)


def test_findings_that_a_comment_switches_off_are_counted(tmp_path: Path) -> None:
    off = "  # pylint: disable=parallel-linear-tuple-used"
    text = TEXT.replace("x, _ = self.down(x)", f"x = nn.functional.gelu(self.down(x)){off}")
    (tmp_path / "mlp.py").write_text(text)
    result = run([tmp_path], Settings(base=tmp_path))
    assert not result.findings and result.summary.suppressed == 1
