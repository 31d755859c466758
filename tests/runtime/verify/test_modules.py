"""Modules and stages named one by one, without a script and without an original."""

import pytest
import torch
from torch import nn

from onescience_check.runtime.verify import Plan, numbers, rolls, shapes

HEAD = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from megatron.core import parallel_state as ps
from megatron.core import tensor_parallel as tp


"""
ROW = """class Row(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, dim // ps.get_tensor_model_parallel_world_size()))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = tp.scatter_to_tensor_model_parallel_region(x)
        return tp.reduce_from_tensor_model_parallel_region(PRODUCT)
"""
GATED = """class Gated(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        made = {"config": config, "init_method": config.init_method, "bias": False}
        self.up = tp.ColumnParallelLinear(dim, 4 * dim, gather_output=False, **made)
        self.down = tp.RowParallelLinear(2 * dim, dim, input_is_parallel=True, skip_bias_add=False, **made)
        size, rank = ps.get_tensor_model_parallel_world_size(), ps.get_tensor_model_parallel_rank()
        both = torch.randn(4 * dim, dim, generator=torch.Generator().manual_seed(1)).chunk(2)
        self.up.weight.data.copy_(torch.cat([part.chunk(size)[rank] for part in both]))

    def forward(self, x):
        gate, value = self.up(x)[0].chunk(2, -1)
        return self.down(F.silu(gate) * value)[0]
"""
TRUNK = """class Trunk(nn.Module):
    def __init__(self, depth, config):
        super().__init__()
        self.config = config
        size, rank = ps.get_pipeline_model_parallel_world_size(), ps.get_pipeline_model_parallel_rank()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(rank * depth // size, END))

    def set_input_tensor(self, tensors):
        self.given = tensors[0]

    def forward(self, x=None):
        x = getattr(self, "given", x)
        for layer in self.layers:
            x = layer(x)
        return x
"""
SENDER = """class Sender(nn.Linear):
    def __init__(self, config):
        super().__init__(4, 4)
        self.config = CONFIG

    def set_input_tensor(self, tensors):
        self.given = tensors[0]

    def forward(self, x=None):
        return super().forward(getattr(self, "given", x))
"""


def found(tmp_path, monkeypatch, text: str, name: str, pp: int = 1, part=shapes, **settings) -> list:
    script = tmp_path / "stages.py"
    script.write_text(HEAD + text)
    monkeypatch.chdir(tmp_path)
    plan = Plan(
        str(script),
        stages=(f"stages:{name}",) * pp,
        roots=(str(tmp_path),),
        tp=2,
        pp=pp,
        overrides=settings,
        input_shape=(2, 4),
    )
    return [(f.kind, f.rule, f.message) for f in part(plan).findings]


@pytest.mark.parametrize(
    ("product", "kinds"),
    [("F.linear(x, self.weight, self.bias)", ["numbers"]), ("F.linear(x, self.weight)) + (self.bias", [])],
)
def test_without_an_original_the_module_on_one_rank_stands_for_it(tmp_path, monkeypatch, product, kinds):
    text = ROW.replace("PRODUCT", product)
    assert [kind for kind, *_ in found(tmp_path, monkeypatch, text, "Row", part=numbers, dim=4)] == kinds


def test_shards_that_a_constructor_lays_out_keep_their_order(tmp_path, monkeypatch):
    assert found(tmp_path, monkeypatch, GATED, "Gated", part=numbers, dim=4) == []


@pytest.mark.parametrize(
    ("end", "rules"),
    [
        ("(rank + 1) * depth // size", []),
        ("rank * depth // size + depth // size", ["layer-split-drops-remainder"]),
    ],
)
def test_layers_that_no_stage_builds_are_missed(tmp_path, monkeypatch, end, rules):
    text = TRUNK.replace("END", end)
    assert [rule for _, rule, _ in found(tmp_path, monkeypatch, text, "Trunk", pp=2, depth=5)] == rules


def test_a_stage_without_the_config_that_the_schedule_reads(tmp_path, monkeypatch):
    [(kind, rule, _)] = found(tmp_path, monkeypatch, SENDER.replace("CONFIG", "None"), "Sender", pp=2)[:1]
    assert (kind, rule) == ("crash", "stage-attribute-missing")


def test_what_a_constructor_needs_is_asked_for(tmp_path, monkeypatch):
    [(kind, _, message)] = found(tmp_path, monkeypatch, TRUNK.replace("END", "depth"), "Trunk")
    assert (kind, message) == ("usage", "Trunk needs depth: give --set depth=…")


@pytest.mark.parametrize(
    ("there", "back", "words"),
    [((-2, -2), (2, 3), "axis 2 by -2 and back by 3"), ((-2, -3), (2, 3), ""), ((1, 1), (1, 2), "")],
)
def test_two_opposite_rolls_undo_each_other(there, back, words):
    module, x = nn.Identity(), torch.zeros(1, 8, 8, 4)
    seen = rolls.Rolls(lambda: module, lambda: ("block.py", 7))
    seen.note(torch.Tensor.roll, (torch.cat([x, x, x], 3), there, (1, 2)), {})
    seen.note(torch.roll, (x,), {"shifts": back, "dims": (1, 2)})
    assert [words in text for _, text in seen.not_undone()] == [True] * bool(words)
