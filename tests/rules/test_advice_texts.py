"""What an advice says in the code that it is given for: its names, its values, its axis."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

FIXTURES = Path(__file__).parent
GATED = """
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        init = config.init_method
        self.w1 = ColumnParallelLinear(dim, hidden, config=config, init_method=init, gather_output=False)
        self.{column} = ColumnParallelLinear({columns}, config=config, init_method=init, gather_output=False)
        self.{row} = RowParallelLinear(
            {rows}, config=config, init_method=init, bias=False, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        return self.{last}(F.silu(self.w1(x)[0]) * self.{first}(x)[0])[0]


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.embed = nn.Linear(dim, dim)
        self.ff = FeedForward(dim, 4 * dim, config)

    def forward(self, x):
        return self.ff(self.embed(x))
"""
STAGE = """
from megatron.core.tensor_parallel import checkpoint
from onescience.modules import OneFuser
from torch import nn


class Net_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block1 = OneFuser(style="NetDistributedFuser", dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, field, mask=None):
        {line}
"""
PARAMETER = """
import torch
from megatron.core import parallel_state
from torch import nn


class Bias(nn.Module):
    def __init__(self, windows, heads):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.table = nn.Parameter(torch.zeros(windows, 3, heads // tp))

    def forward(self, x):
        return x + self.table
"""
MASK = """
from torch import nn


class IceDistributedFuser(nn.Module):
    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
            {line}
        else:
            x = obj.x
            mask = getattr(obj, "mask", None)
            obj = {{"x": x, "mask": mask}}
        return x if mask is None else x * mask
"""
STYLE = """
from torch import nn


class PlainFuser(nn.Module):
    def __init__(self, dim, {parameter}):
        super().__init__()
        self.block = nn.Linear(dim, dim)


_FUSER_REGISTRY = {{"PlainFuser": PlainFuser}}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fuser = OneFuser(style="PlainFuser", dim=dim, n_head=4)
"""
BLOCKS = """
from torch import nn


class Layer(nn.Module):
    def forward(self, obj):
        return obj["x"] * 2


_BLOCK_REGISTRY = {"Layer": Layer}


class IceFuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.blk = _BLOCK_REGISTRY["Layer"]()

    def forward(self, obj):
        h = obj["x"]
        mask = obj.get("mask")
        return self.blk(h)
"""
NAMES = ("column", "columns", "row", "rows", "first", "last")
SWAPPED = dict(zip(NAMES, ("w2", "hidden, dim", "w3", "dim, hidden", "w3", "w2"), strict=True))
CROSSED = dict(zip(NAMES, ("w3", "dim, hidden", "w2", "hidden, dim", "w2", "w3"), strict=True))


@pytest.mark.parametrize(
    ("symbol", "code", "said"),
    [
        ("input-is-parallel-mismatch", GATED.format(**SWAPPED), "`w3` and `w2` have each other's roles"),
        (
            "input-is-parallel-mismatch",
            GATED.format(**CROSSED),
            "`w2` and `w3` are called in each other's place",
        ),
        (
            "stage-not-checkpointed",
            STAGE.format(line="return self.block1(field)"),
            "`checkpoint(self.block1, False, field)`",
        ),
        (
            "stage-not-checkpointed",
            STAGE.format(line='return self.block1({"x": field, "mask": mask})'),
            "`checkpoint(lambda field, mask: self.block1({'x': field, 'mask': mask}), False, field, mask)`",
        ),
        ("sharded-parameter-unmarked", PARAMETER, "(self.table, is_parallel=True, dim=2, stride=1)`"),
        (
            "fuser-mask-access-unsafe",
            MASK.format(line='mask = obj["mask"].clone().float()'),
            "`if mask is not None: mask = mask.clone().float()`",
        ),
        ("style-arguments-rejected", STYLE.format(parameter="num_heads=4"), "Write `num_heads=` in place of"),
        ("style-arguments-rejected", STYLE.format(parameter="depth=2"), "Take `n_head` out"),
        (
            "drop-path-not-from-total-depth",
            (FIXTURES / "drop-path-not-from-total-depth" / "bad_longer_ramp.py").read_text(),
            "`drop_path=np.linspace(0, 0.2, 8).tolist()[2:]`",
        ),
        (
            "drop-path-not-from-total-depth",
            (FIXTURES / "drop-path-not-from-total-depth" / "bad_not_original.py").read_text(),
            "`drop_path=rates[2:8]`",
        ),
        (
            "collective-of-view",
            (FIXTURES / "collective-of-view" / "bad.py").read_text(),
            "copy back: `scores.transpose(0, 1).copy_(whole)`",
        ),
        (
            "full-heads-on-sharded-value",
            (FIXTURES / "full-heads-on-sharded-value" / "bad_all_groups.py").read_text(),
            "_per_rank = self.",
        ),
        ("submodule-not-given-dict", BLOCKS, '`self.blk({"x": h, "mask": mask})`'),
    ],
)
def test_advice_names_what_the_code_has(symbol: str, code: str, said: str, tmp_path: Path) -> None:
    assert said in advice_for(symbol, code, tmp_path)


def advice_for(symbol: str, code: str, folder: Path) -> str:
    (folder / "example.py").write_text(code)
    result = run([folder], Settings(tp=(1, 2), profile="guide", base=folder))
    return "\n".join(finding.advice for finding in result.findings if finding.symbol == symbol)


SCRIPT = """
import yaml
from megatron.training import pretrain
from steps import Fields, forward_step, model_provider


def datasets(samples):
    with open("config.yaml") as file:
        cfg = yaml.safe_load(file)
    return Fields(cfg["data"]["train_time"]), None, None


pretrain(datasets, model_provider, None, forward_step)
"""


@pytest.mark.parametrize(
    ("keys", "near"),
    [
        ("{train_ratio: [0.8, 0.2]}", ""),
        ("{train_ratio: [0.8, 0.2], val_time: [2001]}", "`val_time`"),
        ("{train_times: [2001]}", "`train_times`"),
    ],
)
def test_a_missing_key_is_likened_to_one_of_the_same_kind(
    keys: str, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(f"data: {keys}\n")
    advice = advice_for("yaml-key-missing", SCRIPT, tmp_path)
    assert "Add `train_time:`" in advice
    assert near in advice if near else "read the key" not in advice
